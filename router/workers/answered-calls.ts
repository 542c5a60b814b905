/**
 * Calls that a router answered from its cache, until their worker has the report: they are in the tenant's log, and
 * count, like any other. The report is sent before the next request on the link, so a reader of the log finds each call
 * that was answered before.
 */
import type {AnsweredCall} from '../../shared/ipc/operations.ts';
import {CALLS_REPORT_CHARS, CALLS_REPORT_MS} from '../limits.ts';

/** Of each call in the report, in addition to its name and request id. */
const OTHER_CHARS = '[1700000000000,,""],'.length;

export class AnsweredCalls {
  readonly #send: (report: string) => void;
  #calls: AnsweredCall[] = [];
  /** Characters of the report. Escapes in request ids are not counted; they at most double its length. */
  #chars = 0;
  /** The name of the last call, and its length as JSON: most calls are of few functions. */
  #name = '';
  #nameChars = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param send takes a report */
  constructor(send: (report: string) => void) {
    this.#send = send;
  }

  /** @param name under which the worker wants the call to be reported */
  add(name: string, requestId: string): void {
    if (name !== this.#name) {
      this.#name = name;
      this.#nameChars = JSON.stringify(name).length;
    }
    this.#calls.push([Date.now(), name, requestId]);
    this.#chars += OTHER_CHARS + this.#nameChars + requestId.length;
    if (this.#chars >= CALLS_REPORT_CHARS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), CALLS_REPORT_MS).unref();
  }

  flush(): void {
    if (this.#calls.length === 0) return;
    const report = JSON.stringify(this.#calls);
    this.end();
    this.#send(report);
  }

  /** No report can be sent any more. */
  end(): void {
    this.#calls = [];
    this.#chars = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
