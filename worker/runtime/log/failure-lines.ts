/**
 * Failed executions as lines of the service's own log, so that a request id that a user reports is found where an operator looks.
 * Anybody can call a function in a way that fails: so many lines a second, and the next one says how many were left out.
 */

import type {Logger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {TokenBucket} from '../../../shared/token-bucket.ts';
import {LOG_FAILURES_BURST, LOG_FAILURES_PER_SECOND} from '../limits.ts';

const LINES = {requests_per_second: LOG_FAILURES_PER_SECOND, burst: LOG_FAILURES_BURST};

export class FailureLines {
  readonly #log: Logger;
  readonly #clock: () => number;
  readonly #lines: TokenBucket;
  #leftOut = 0;

  constructor(log: Logger, clock: () => number) {
    this.#log = log;
    this.#clock = clock;
    this.#lines = new TokenBucket(LINES, clock());
  }

  add({request_id: request, path, kind, error}: LogEntry): void {
    if (!this.#lines.take(this.#clock())) {
      this.#leftOut++;
      return;
    }
    const leftOut = this.#leftOut === 0 ? {} : {failures_not_logged: this.#leftOut};
    this.#leftOut = 0;
    this.#log.warn('a function failed', {request, path, kind, failure: error, ...leftOut});
  }
}
