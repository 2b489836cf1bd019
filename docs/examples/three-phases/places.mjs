// Places at which this example can be killed or held up, to see what follows. A real service has nothing of this.
//
// DIE_AT=<place> kills the process there, as `kill -9` would. STALL_AT=<place> holds up the first attempt of each
// operation there until `POST /go-on`. The places, in the order of the work:
//
//   start                       nothing is done
//   reserve, charge, order      the phase has had its effect, and the gateway has not heard of it
//   reserved, charged, ordered  the gateway keeps the recovery point

const { DIE_AT, STALL_AT } = process.env;
const stalled = [];
const seen = new Set();

/** An attempt comes by `place`. */
export async function comeBy(place, operation) {
  if (place === DIE_AT) process.kill(process.pid, "SIGKILL");
  if (place === STALL_AT && !seen.has(operation)) {
    seen.add(operation);
    await new Promise((goOn) => stalled.push(goOn));
  }
}

/** How many are held up. */
export const heldUp = () => stalled.length;

/** All that are held up go on. */
export function goOn() {
  for (const resume of stalled.splice(0)) resume();
}
