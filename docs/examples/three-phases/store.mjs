// One JSON file in place of a database: a transaction happens whole or not at all, whatever kills the process.
//
// Not a store for real work: it writes everything each time, and one process alone may use it.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export class Store {
  #file;
  #data;

  /** Opens the file, or begins with `empty` if there is none. */
  constructor(file, empty) {
    this.#file = file;
    try {
      this.#data = JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      this.#data = empty;
    }
  }

  /** What the last transaction left. Not to be changed. */
  get data() {
    return this.#data;
  }

  /** Calls `change` with a copy to change, and keeps it. If `change` throws, nothing has happened. */
  transaction(change) {
    const next = structuredClone(this.#data);
    const result = change(next);
    const written = openSync(`${this.#file}.new`, "w");
    writeFileSync(written, JSON.stringify(next, null, 2));
    fsyncSync(written);
    closeSync(written);
    renameSync(`${this.#file}.new`, this.#file); // the one moment at which it happens
    this.#data = next;
    return result;
  }
}
