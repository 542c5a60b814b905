/**
 * Writes failed executions to the service's own log, so that an operator finds a request id that a user reports. Any
 * client can cause failures, so the lines per second are limited, and the next line gives the number of omitted ones.
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
