// An origin that takes an order in three phases: reserve the goods, charge the card, place the order. Each happens once
// for an operation, wherever the process is killed and however often the request comes again.
//
// Four things make it so, and each stands where it is needed:
//   1. What is its own is written under the operation id, in the effect's own transaction (`reserve`, `order`).
//   2. What is somebody else's is asked for under a key derived from it (`charge`).
//   3. An attempt with a lower number than one that has been here is turned away (`Attempt.transaction`).
//   4. After each phase a recovery point is saved, so that the next attempt does not begin at the beginning.
// The first three make it right; the fourth saves work.

import { createServer } from "node:http";
import { comeBy, goOn, heldUp } from "./places.mjs";
import { Store } from "./store.mjs";

const PORT = Number(process.env.PORT ?? 9000);
const GATEWAY = process.env.GATEWAY ?? "http://127.0.0.1:8787";
const PROVIDER = process.env.PROVIDER ?? "http://127.0.0.1:9100";
const PRICE = 100;
const POINTS = ["reserved", "charged", "ordered"];

const store = new Store(process.env.DATA ?? "three-phases.json", {
  stock: 1000,
  reservations: {}, // by operation id, which is the unique constraint
  orders: {}, // likewise
  highest: {}, // operation id → the highest attempt number that was here
  journal: [], // what each attempt did, to look at
});

/** This attempt does not count any more: another one has taken over. */
class Superseded extends Error {}

/** One attempt at an operation, as the gateway names it. */
class Attempt {
  constructor(headers) {
    this.operation = headers["oncegate-operation"];
    this.token = headers["oncegate-attempt"];
    this.number = Number(headers["oncegate-attempt-number"]);
    this.pointName = headers["oncegate-recovery-point"];
  }

  /** A transaction of this attempt's: it happens only if no later attempt has been here (3). */
  transaction(phase, change) {
    return store.transaction((db) => {
      if (this.number < (db.highest[this.operation] ?? 0)) throw new Superseded("a later attempt has been here");
      db.highest[this.operation] = this.number;
      db.journal.push({ operation: this.operation, number: this.number, phase });
      return change(db);
    });
  }

  /** How far the attempt before came: the header has the name, the gateway keeps the data with it. */
  async recoveryPoint() {
    if (!this.pointName) return { name: undefined, data: {} };
    const answer = await this.#ask("GET", "recovery-point");
    if (!answer.ok) throw new Error(`no recovery point: ${answer.status}`);
    const { name, data } = await answer.json();
    return { name, data: JSON.parse(data) };
  }

  /** Keeps how far this one came (4). If the gateway does not answer, the next attempt asks for this phase once more. */
  async save(name, data) {
    const point = JSON.stringify({ name, data: JSON.stringify(data) });
    try {
      const answer = await this.#ask("PUT", "recovery-point", point);
      if (!answer.ok) console.error(`recovery point ${name} is not saved: ${answer.status} ${await answer.text()}`);
    } catch (error) {
      if (error instanceof Superseded) throw error;
      console.error(`recovery point ${name} is not saved: ${error.message}`);
    }
  }

  async #ask(method, what, body) {
    const answer = await fetch(`${GATEWAY}/_oncegate/attempts/${this.operation}/${what}`, {
      method,
      headers: { "Oncegate-Attempt": this.token, "Content-Type": "application/json" },
      body,
    });
    if (answer.status === 409) throw new Superseded("the gateway let another attempt run");
    return answer;
  }
}

/** The whole work: what the client is answered. */
async function placeOrder(attempt, { sku, quantity }) {
  attempt.transaction("start", () => {}); // (3)
  const { name, data } = await attempt.recoveryPoint();
  const reached = (point) => POINTS.indexOf(name) >= POINTS.indexOf(point);
  await comeBy("start", attempt.operation);

  if (!reached("reserved")) {
    data.reservation = attempt.transaction("reserve", (db) => reserve(db, attempt.operation, sku, quantity));
    if (!data.reservation) return outcome(409, { error: "out of stock" });
    await comeBy("reserve", attempt.operation);
    await attempt.save("reserved", data);
    await comeBy("reserved", attempt.operation);
  }
  if (!reached("charged")) {
    attempt.transaction("charge", () => {});
    const charge = await pay(`${attempt.operation}:charge`, quantity * PRICE);
    if (!charge) {
      attempt.transaction("give back", (db) => giveBack(db, attempt.operation));
      return outcome(402, { error: "the card was declined" });
    }
    data.charge = charge;
    await comeBy("charge", attempt.operation);
    await attempt.save("charged", data);
    await comeBy("charged", attempt.operation);
  }
  if (!reached("ordered")) {
    data.order = attempt.transaction("order", (db) => order(db, attempt.operation, data));
    await comeBy("order", attempt.operation);
    await attempt.save("ordered", data);
    await comeBy("ordered", attempt.operation);
  }
  return outcome(201, data);
}

/** Phase 1, the origin's own: the reservation and the stock change together, once for an operation (1). */
function reserve(db, operation, sku, quantity) {
  const known = db.reservations[operation];
  if (known) return known.id;
  if (db.stock < quantity) return undefined;
  db.stock -= quantity;
  const id = `res_${Object.keys(db.reservations).length + 1}`;
  db.reservations[operation] = { id, sku, quantity };
  return id;
}

/** Undoes phase 1, once as well: what is given back stays as a reservation of nothing. */
function giveBack(db, operation) {
  const reservation = db.reservations[operation];
  db.stock += reservation.quantity;
  reservation.quantity = 0;
}

/** Phase 2, somebody else's: the provider takes the key for the same charge, whoever asks and however often (2). */
async function pay(key, amount) {
  const answer = await fetch(`${PROVIDER}/charges`, {
    method: "POST",
    headers: { "Idempotency-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify({ amount }),
  });
  if (answer.status === 402) return undefined;
  if (!answer.ok) throw new Error(`the provider answered ${answer.status}`);
  return (await answer.json()).id;
}

/** Phase 3, the origin's own (1). */
function order(db, operation, { reservation, charge }) {
  const id = `ord_${Object.keys(db.orders).length + 1}`;
  db.orders[operation] ??= { id, reservation, charge };
  return db.orders[operation].id;
}

/** The operation's outcome, whatever its status: out of stock is one, as a declined card is. */
const outcome = (status, value) => ({ status, value, word: "final" });

/** An answer that says that nothing was begun: the key stays free for the mended request. */
const refused = (error) => ({ status: 400, value: { error }, word: "not-run" });

function read(body) {
  try {
    const { sku, quantity } = JSON.parse(body);
    return typeof sku === "string" && quantity >= 1 ? { sku, quantity } : undefined;
  } catch {
    return undefined;
  }
}

/** What the gateway is answered, and what that says of this attempt. */
async function answerTo(request, body) {
  const attempt = new Attempt(request.headers);
  const wanted = read(body);
  if (!attempt.operation || !attempt.token) return refused("orders come by the gateway");
  if (!wanted) return refused('an order is {"sku": "…", "quantity": 1 or more}');
  try {
    return await placeOrder(attempt, wanted);
  } catch (error) {
    if (error instanceof Superseded) {
      // Whatever this attempt says changes nothing any more, so it says nothing of the work.
      const { operation, number } = attempt;
      store.transaction((db) => db.journal.push({ operation, number, phase: "superseded" }));
      return { status: 503, value: { error: error.message }, word: "unknown" };
    }
    console.error(error);
    return { status: 500, value: { error: "it broke half-way" }, word: "unknown" };
  }
}

createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const answer = ({ status, value, word }) => {
    const headers = { "Content-Type": "application/json" };
    if (word) headers["Oncegate-Outcome"] = word;
    response.writeHead(status, headers).end(JSON.stringify(value));
  };
  if (request.method === "GET" && request.url === "/state") {
    return answer({ status: 200, value: { ...store.data, heldUp: heldUp() } });
  }
  if (request.method === "POST" && request.url === "/go-on") {
    goOn();
    return answer({ status: 200, value: {} });
  }
  if (request.method === "POST") return answer(await answerTo(request, body));
  return answer({ status: 404, value: { error: "there is nothing here" } });
}).listen(PORT, "127.0.0.1", () => console.log(`orders at http://127.0.0.1:${PORT}`));
