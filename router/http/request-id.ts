/** X-Request-Id: the client's own if it is usable, else a new one that is unique across restarts and cheap to make. */
import {randomBytes} from 'node:crypto';
import {REQUEST_ID_CHARS_MAX} from '../../shared/limits.ts';

const USABLE = new RegExp(`^[\\x21-\\x7e]{1,${REQUEST_ID_CHARS_MAX}}$`);

export class RequestIds {
  readonly #prefix = `${randomBytes(5).toString('hex')}-`;
  #count = 0;

  /** @param fromClient the header's value; empty if missing */
  next(fromClient: string): string {
    if (fromClient !== '' && USABLE.test(fromClient)) return fromClient;
    return this.#prefix + (++this.#count).toString(36);
  }
}
