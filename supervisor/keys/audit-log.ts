/**
 * The audit log of operators' actions. An intent is on disk before its action begins, so no action runs without a
 * record: if the intent cannot be written, the action is refused. The outcome follows within AUDIT_OUTCOME_MS, or with
 * the next intent. An intent without an outcome means that the server stopped in between.
 */
import Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import type {AuditedAction, AuditedOutcome} from '../../shared/ipc/audit.ts';
import {AUDIT_PAGE_RECORDS_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {Copyable} from '../files/own-database.ts';
import {AUDIT_OUTCOME_MS} from '../limits.ts';
import {type AuditStore, openAuditStore} from './audit-store.ts';

type Outcome = {at: number; kind: 'outcome'} & AuditedOutcome;

export class AuditLog {
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #store: AuditStore;
  /** Not on disk yet. */
  #outcomes: Outcome[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** @param now epoch milliseconds */
  constructor(path: string, now: () => number, log: Logger) {
    this.#path = path;
    this.#now = now;
    this.#log = log;
    this.#store = openAuditStore({path, what: 'the audit log', now, log});
  }

  /**
   * The intent is on disk when this returns.
   * @returns its sequence.
   * @throws session.storage_full 507, op.storage_damaged 503
   */
  intent(action: AuditedAction): number {
    const {operation, tenant, subject, key, key_name, session, address, request_id} = action;
    const who = {key, key_name, ...(session === undefined ? {} : {session}), address, request_id};
    const record = {at: this.#now(), kind: 'intent', operation, tenant, subject, ...who};
    const outcomes = this.#outcomes;
    const first = this.#append([...outcomes, record]);
    this.#outcomes = this.#outcomes.slice(outcomes.length);
    return first + outcomes.length;
  }

  outcome({of, status, code}: AuditedOutcome): void {
    this.#outcomes.push({at: this.#now(), kind: 'outcome', of, status, code});
    this.#timer ??= setTimeout(() => this.#flush(), AUDIT_OUTCOME_MS).unref();
  }

  /** A page as JSON. @throws op.storage_damaged 503 */
  page(after: number | null, limit: number): string {
    this.#flush();
    try {
      return this.#store.page(after, Math.min(limit, AUDIT_PAGE_RECORDS_MAX));
    } catch (caught) {
      throw this.#asDamage(caught);
    }
  }

  get copyable(): Copyable {
    return this.#store.copyable;
  }

  close(): void {
    this.#flush();
    this.#store.close();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#outcomes.length === 0) return;
    try {
      this.#append(this.#outcomes);
      this.#outcomes = [];
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      // They stay for the next intent. Without space the next intent is refused, so they stay few.
      this.#log.warn('outcomes of actions cannot be written to the audit log', {error: caught});
    }
  }

  #append(records: object[]): number {
    try {
      return this.#store.append(records);
    } catch (caught) {
      throw this.#asDamage(caught);
    }
  }

  #asDamage(caught: unknown): unknown {
    if (!(caught instanceof Database.SqliteError) || !/^SQLITE_(CORRUPT|NOTADB)/.test(caught.code)) return caught;
    return new ServiceError(
      'op.storage_damaged',
      `the audit log ${this.#path} is damaged, and no action is done without its record: start the server again, which puts it aside`,
      undefined,
      {cause: caught},
    );
  }
}
