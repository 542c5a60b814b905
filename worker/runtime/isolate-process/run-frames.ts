/** Runs of queries that end in one turn of the process of the isolates, sent to the worker as one frame. */
import {Buffer} from 'node:buffer';
import {QUERY_FRAME_CHARS} from '../limits.ts';
import type {PackedRun} from '../queries/packed-run.ts';

export class RunFrames {
  readonly #send: (head: string, tail: string) => void;
  #rows = '';
  #values = '';

  /** @param send takes the head as JSON of a `ran` message */
  constructor(send: (head: string, tail: string) => void) {
    this.#send = send;
  }

  /** @param at its number among the queries with this id */
  add(id: number, at: number, [run, value]: PackedRun): void {
    if (this.#rows.length + this.#values.length + run.length + value.length > QUERY_FRAME_CHARS) this.flush();
    if (this.#rows === '') process.nextTick(() => this.flush());
    else this.#rows += ',';
    this.#rows += `[${id},${at},${Buffer.byteLength(value)},${run}]`;
    this.#values += value;
  }

  /** Sends those that have been added. */
  flush(): void {
    if (this.#rows === '') return;
    const head = `{"type":"ran","runs":[${this.#rows}]}`;
    const values = this.#values;
    this.#rows = '';
    this.#values = '';
    this.#send(head, values);
  }
}
