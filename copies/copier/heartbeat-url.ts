/** Requests a URL after successes, so that a service outside notices when backups have stopped. */
import {request} from 'undici';
import type {Logger} from '../../shared/log.ts';
import {HEARTBEAT_URL_MS_MAX, HEARTBEAT_URL_MS_MIN} from './limits.ts';

const ERRORS_FROM = 400;

export class HeartbeatUrl {
  readonly #url: string;
  readonly #log: Logger;
  readonly #failed: () => void;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;

  constructor(url: string, log: Logger, failed: () => void) {
    this.#url = url;
    this.#log = log;
    this.#failed = failed;
  }

  /** At most one request per minute. */
  succeeded(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < HEARTBEAT_URL_MS_MIN) return;
    this.#lastMs = nowMs;
    this.#request().then(
      () => {
        this.#isFailing = false;
      },
      (error: unknown) => {
        this.#failed();
        if (!this.#isFailing) this.#log.warn('the heartbeat URL of backups cannot be requested', {error});
        this.#isFailing = true;
      },
    );
  }

  async #request(): Promise<void> {
    const {statusCode, body} = await request(this.#url, {signal: AbortSignal.timeout(HEARTBEAT_URL_MS_MAX)});
    await body.dump();
    if (statusCode >= ERRORS_FROM) throw new Error(`it answers ${statusCode}`);
  }
}
