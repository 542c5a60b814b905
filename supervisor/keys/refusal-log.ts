/**
 * The log of requests refused because of their credentials or rights. It is separate from that of operators' actions,
 * because clients without credentials must not be able to push those out, nor fill the disk. Routers report a group of
 * similar refusals once, and then the number of further ones. A limited number of records is stored per minute
 * (separately for valid keys and for all others) and in total. The rest is counted.
 *
 * Nothing waits for it, and its failures affect nothing else: records are written in batches, a little later, and if
 * that fails they are only counted.
 */
import Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import {AUDIT_PAGE_RECORDS_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {type Copyable, DatabaseUnusable} from '../files/own-database.ts';
import {REFUSAL_RECORDS_MAX, REFUSAL_RECORDS_PER_MINUTE_MAX, REFUSAL_WRITE_MS} from '../limits.ts';
import {type AuditStore, openAuditStore} from './audit-store.ts';

const MINUTE_MS = 60_000;

type Refused = {at: number; kind: 'refused'} & RefusedRequest;

export class RefusalLog {
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #onUnrecorded: (requests: number) => void;
  /**
   * Null: the log could not be created, or failed at run time. Nothing is written until the next start, which moves it
   * aside.
   */
  #store: AuditStore | null = null;
  #isFull = false;
  /** Not on disk yet. */
  #waiting: Refused[] = [];
  #timer: NodeJS.Timeout | null = null;
  #minute = Number.NEGATIVE_INFINITY;
  readonly #taken = {keys: 0, others: 0};

  /**
   * @param now epoch milliseconds
   * @param onUnrecorded called with the number of requests that were only counted
   */
  constructor(path: string, now: () => number, log: Logger, onUnrecorded: (requests: number) => void) {
    this.#path = path;
    this.#now = now;
    this.#log = log;
    this.#onUnrecorded = onUnrecorded;
    try {
      this.#store = openAuditStore({path, what: 'the log of refusals', recordsMax: REFUSAL_RECORDS_MAX, now, log});
    } catch (caught) {
      if (!(caught instanceof DatabaseUnusable || caught instanceof Database.SqliteError)) throw caught;
      log.error('there is no log of refusals: they are only counted until the next start', {path, error: caught});
    }
  }

  add(refused: RefusedRequest): void {
    const {operation, tenant, code, key, key_name, shown, address, request_id, count} = refused;
    if (!this.#hasPlace(key === null ? 'others' : 'keys')) {
      this.#onUnrecorded(count);
      return;
    }
    const at = this.#now();
    this.#waiting.push({
      ...{at, kind: 'refused', operation, tenant, code, key, key_name, shown, address, request_id, count},
    });
    this.#timer ??= setTimeout(() => this.#flush(), REFUSAL_WRITE_MS).unref();
  }

  /** A page as JSON. @throws op.storage_damaged 503 */
  page(after: number | null, limit: number): string {
    this.#flush();
    try {
      if (this.#store !== null) return this.#store.page(after, Math.min(limit, AUDIT_PAGE_RECORDS_MAX));
    } catch (caught) {
      this.#damaged(caught);
    }
    throw new ServiceError(
      'op.storage_damaged',
      `the log of refusals ${this.#path} cannot be used: start the server again, which puts it aside or makes it`,
    );
  }

  /** Null: the file cannot be used. */
  get copyable(): Copyable | null {
    return this.#store?.copyable ?? null;
  }

  close(): void {
    this.#flush();
    this.#store?.close();
  }

  /** Whether the quota of this minute allows one more record. */
  #hasPlace(kind: 'keys' | 'others'): boolean {
    const minute = Math.floor(this.#now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#taken.keys = 0;
      this.#taken.others = 0;
    }
    return ++this.#taken[kind] <= REFUSAL_RECORDS_PER_MINUTE_MAX;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const records = this.#waiting;
    this.#waiting = [];
    if (records.length === 0) return;
    if (this.#store !== null && this.#isWritten(this.#store, records)) return;
    this.#onUnrecorded(records.reduce((sum, {count}) => sum + count, 0));
  }

  #isWritten(store: AuditStore, records: readonly Refused[]): boolean {
    try {
      store.append(records);
      this.#isFull = false;
      return true;
    } catch (caught) {
      if (!(caught instanceof ServiceError)) this.#damaged(caught);
      else if (!this.#isFull) {
        this.#isFull = true;
        this.#log.warn('refusals cannot be written to their log, and are only counted', {error: caught});
      }
      return false;
    }
  }

  /** Closes the log after any storage error, because nothing depends on this file. @throws other errors */
  #damaged(caught: unknown): void {
    if (!(caught instanceof Database.SqliteError)) throw caught;
    this.#store?.close();
    this.#store = null;
    this.#log.error('the log of refusals is damaged: they are only counted until the next start', {
      path: this.#path,
      error: caught,
    });
  }
}
