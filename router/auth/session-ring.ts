/**
 * A router's copy of the dashboard's sessions, complete before the router serves. A session is found by its own secret
 * only: a value that a client chose names none, whatever its id.
 */
import {type SessionRecord, sessionIdIn} from '../../shared/ipc/sessions.ts';
import {keyOf, Session, wholeHeader} from './credentials.ts';
import type {KeyRing} from './key-ring.ts';

export class SessionRing {
  readonly #keys: KeyRing;
  readonly #now: () => number;
  readonly #sessions = new Map<string, Session>();

  /** @param keys has the keys that opened them, and reports their uses. @param now epoch milliseconds */
  constructor(records: readonly SessionRecord[], keys: KeyRing, now: () => number) {
    this.#keys = keys;
    this.#now = now;
    for (const record of records) this.put(record);
  }

  put(record: SessionRecord): void {
    const {id, key, credential_sha256} = record;
    const opener = key === null ? null : this.#keys.secretOf(key, credential_sha256);
    // Without its key it is over.
    if (key === null || opener !== null) this.#sessions.set(id, new Session(record, opener));
  }

  remove(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    session.isEnded = true;
    this.#sessions.delete(id);
    this.#keys.changed();
  }

  /** Null: no valid session has this cookie. @throws session.worker_unavailable 503, as `KeyRing.find` */
  find(cookieValue: string): Session | null {
    const session = this.#sessions.get(sessionIdIn(cookieValue));
    if (session === undefined || !session.isIn(cookieValue, wholeHeader) || !session.isValid(this.#now())) return null;
    const fault = this.#keys.faultOf(session);
    if (fault !== null) throw fault;
    this.#keys.noteUse(session);
    const key = keyOf(session);
    if (key !== null) this.#keys.noteUse(key);
    return session;
  }
}
