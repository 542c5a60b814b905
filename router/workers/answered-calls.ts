/**
 * Calls that a router answered from its cache, until their worker has the report: they are in the tenant's log, and
 * count, like any other. The report is sent before the next request on the link, so a reader of the log finds each call
 * that was answered before.
 */
import {quotedText} from '../../shared/values/canonical-json.ts';
import {CALLS_REPORT_CHARS, CALLS_REPORT_MS} from '../limits.ts';

export class AnsweredCalls {
  readonly #send: (report: string) => void;
  /** An array of AnsweredCall as JSON, without its end; empty: none. */
  #report = '';
  #timer: NodeJS.Timeout | null = null;

  /** @param send takes a report */
  constructor(send: (report: string) => void) {
    this.#send = send;
  }

  /** @param name under which the worker wants the call to be reported */
  add(name: string, requestId: string): void {
    const begin = this.#report === '' ? '[' : ',';
    this.#report += `${begin}[${Date.now()},${quotedText(name)},${quotedText(requestId)}]`;
    if (this.#report.length >= CALLS_REPORT_CHARS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), CALLS_REPORT_MS).unref();
  }

  flush(): void {
    if (this.#report === '') return;
    const report = `${this.#report}]`;
    this.end();
    this.#send(report);
  }

  /** No report can be sent any more. */
  end(): void {
    this.#report = '';
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
