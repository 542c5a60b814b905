/**
 * Failed executions as lines of the service's own log, so that a request id that a user reports is found where an operator looks.
 * Anybody can call a function in a way that fails: so many lines a second, and the next one says how many were left out.
 */

import type {Logger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {LOG_FAILURES_BURST, LOG_FAILURES_PER_SECOND} from '../limits.ts';

export class FailureLines {
  readonly #log: Logger;
  readonly #clock: () => number;
  #room = LOG_FAILURES_BURST;
  #seenMs: number;
  #leftOut = 0;

  constructor(log: Logger, clock: () => number) {
    this.#log = log;
    this.#clock = clock;
    this.#seenMs = clock();
  }

  add({request_id: request, path, kind, error}: LogEntry): void {
    const nowMs = this.#clock();
    const grown = (Math.max(0, nowMs - this.#seenMs) / 1000) * LOG_FAILURES_PER_SECOND;
    this.#room = Math.min(LOG_FAILURES_BURST, this.#room + grown);
    this.#seenMs = nowMs;
    if (this.#room < 1) {
      this.#leftOut++;
      return;
    }
    this.#room--;
    const leftOut = this.#leftOut === 0 ? {} : {failures_not_logged: this.#leftOut};
    this.#leftOut = 0;
    this.#log.warn('a function failed', {request, path, kind, failure: error, ...leftOut});
  }
}
