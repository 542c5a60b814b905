/**
 * Sessions of the dashboard. Each is opened with a credential, has its rights, and ends with it: when the key is
 * revoked, rotated or expires, or an admin credential changes. A session also ends when it is idle, at its absolute end,
 * and when it is signed out. As with keys, a change is on disk before any router gets it, and at all routers before it
 * is answered, so a session outlives restarts, and an ended one is refused everywhere.
 *
 * Also the codes of one-time links, which are in memory only.
 */
import {hash, randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {notFound, ServiceError} from '../../shared/errors.ts';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {Actor} from '../../shared/ipc/keys.ts';
import {
  cookieValueOf,
  type Holder,
  type OpenedSession,
  type SessionRecord,
  type SessionRequest,
} from '../../shared/ipc/sessions.ts';
import {newKeyId} from '../../shared/key-secret.ts';
import type {Logger} from '../../shared/log.ts';
import type {DashboardCode, DashboardSession, DashboardSessionList} from '../../shared/protocol/dashboard.ts';
import {DatabaseUnusable} from '../files/own-database.ts';
import {
  DASHBOARD_CODE_MS,
  DASHBOARD_CODES_MAX,
  DASHBOARD_CODES_OF_CREDENTIAL_MAX,
  KEY_USES_WRITE_MS,
  SESSION_BROWSER_CHARS_MAX,
  SESSION_IDLE_MS,
  SESSION_LIFE_MS,
  SESSION_SWEEP_MS,
  SESSIONS_MAX,
  SESSIONS_OF_CREDENTIAL_MAX,
} from '../limits.ts';
import {putAside} from './audit-store.ts';
import {KeyStore, SESSIONS_FILE} from './key-store.ts';

export type SessionsParts = {
  path: string;
  /** Digest of the admin credentials. A session of an admin credential ends when it changes. */
  adminSha256: string;
  keys: {nameOf(id: string): string | null; endOf(id: string, sha256: string): number};
  /** Resolves when every router has applied it. */
  tellRouters: (message: SupervisorToRouter) => Promise<void>;
  /** Epoch milliseconds. */
  now: () => number;
  log: Logger;
};

const SECRET_BYTES = 32;
type Code = {holder: Holder; endsMs: number};

export class Sessions {
  readonly #parts: SessionsParts;
  /** Null: sessions are in memory only, because their file cannot be used. */
  readonly #store: KeyStore<SessionRecord> | null;
  readonly #records = new Map<string, SessionRecord>();
  readonly #usedMs = new Map<string, number>();
  /** The part of `usedMs` that is not on disk yet. */
  readonly #unwritten = new Map<string, number>();
  /** By digest, the oldest first. */
  readonly #codes = new Map<string, Code>();
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#store = openStore(parts);
    const stored = this.#store?.read();
    for (const record of stored?.records ?? []) this.#records.set(record.id, record);
    for (const [id, ms] of stored?.usedMs ?? []) this.#usedMs.set(id, ms);
    if ((stored?.damaged.length ?? 0) > 0) {
      parts.log.warn('sessions of the dashboard ended: their records are damaged', {sessions: stored!.damaged});
    }
    for (const id of [...(stored?.damaged ?? []), ...this.#ended()]) this.#remove(id);
    this.#timers = [
      setInterval(() => void this.sweep(), SESSION_SWEEP_MS).unref(),
      setInterval(() => this.#writeUses(), KEY_USES_WRITE_MS).unref(),
    ];
  }

  /** All records, for a router that starts. */
  records(): SessionRecord[] {
    return [...this.#records.values()];
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#writeUses();
    this.#store?.close();
  }

  /** A router reports which sessions, among other credentials, were used since its last report. */
  used(ids: readonly string[]): void {
    const nowMs = this.#parts.now();
    for (const id of ids) {
      if (!this.#records.has(id)) continue;
      this.#usedMs.set(id, nowMs);
      this.#unwritten.set(id, nowMs);
    }
  }

  /** Ends the sessions whose time is over, or whose credential is not valid any more. */
  async sweep(): Promise<void> {
    for (const id of this.#ended()) await this.#end(id);
  }

  /** @throws ServiceError */
  async perform(request: SessionRequest): Promise<unknown> {
    switch (request.action) {
      case 'session_open':
        return await this.#open(request);
      case 'session_list':
        return this.#list(request.actor);
      case 'session_end':
        for (const id of this.#chosen(request.actor, request.session)) await this.#end(id);
        return null;
      case 'code_make':
        return this.makeCode(request.holder);
      case 'code_take':
        return {holder: this.#takeCode(request.code)};
    }
  }

  async #open({holder, address, browser}: SessionRequest & {action: 'session_open'}): Promise<OpenedSession> {
    const nowMs = this.#parts.now();
    const endsMs = Math.min(nowMs + SESSION_LIFE_MS, this.#endOf(holder));
    if (endsMs <= nowMs) throw new ServiceError('auth.unauthorized', 'the credential is not valid any more');
    for (const id of this.#displaced(holder)) await this.#end(id);
    const id = newKeyId();
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const record: SessionRecord = {
      ...{id, key: holder?.key ?? null, credential_sha256: holder?.sha256 ?? this.#parts.adminSha256},
      ...{sha256: hash('sha256', cookieValueOf(id, secret), 'hex'), created_at: nowMs, ends_at: endsMs},
      ...{address, browser: browser.slice(0, SESSION_BROWSER_CHARS_MAX)},
    };
    this.#store?.put(record);
    this.#records.set(id, record);
    await this.#parts.tellRouters({type: 'session_put', session: record});
    return {id, secret: cookieValueOf(id, secret), ends_at: endsMs, idle_ends_at: this.#idleEndOf(record)};
  }

  /** The sessions that a new one of this credential replaces. */
  #displaced(holder: Holder): string[] {
    const byUse = [...this.#records.values()].sort((a, b) => this.#lastUseOf(a) - this.#lastUseOf(b));
    const own = byUse.filter(({key}) => key === (holder?.key ?? null));
    if (own.length >= SESSIONS_OF_CREDENTIAL_MAX) return [own[0]!.id];
    if (byUse.length < SESSIONS_MAX) return [];
    // Holders of keys cannot sign out an admin.
    const ofKeys = byUse.find(({key}) => key !== null);
    return ofKeys === undefined ? [] : [ofKeys.id];
  }

  #list(actor: Actor): DashboardSessionList {
    const seen = [...this.#records.values()].filter(record => isSeen(actor, record));
    const sessions = seen.map(record => this.#view(record)).sort((a, b) => b.last_used_at - a.last_used_at);
    return {sessions};
  }

  #view(record: SessionRecord): DashboardSession {
    const {id, key, created_at, ends_at, address, browser} = record;
    return {
      ...{id, key, key_name: key === null ? 'admin' : (this.#parts.keys.nameOf(key) ?? key), created_at},
      ...{last_used_at: this.#lastUseOf(record), idle_ends_at: this.#idleEndOf(record), ends_at, address, browser},
    };
  }

  /** @throws op.not_found 404 */
  #chosen(actor: Actor, id: string | null): string[] {
    if (id === null) return this.records().flatMap(record => (record.key === actor ? [record.id] : []));
    const record = this.#records.get(id);
    if (record !== undefined && isSeen(actor, record)) return [id];
    throw notFound(`there is no session ${JSON.stringify(id.slice(0, 64))}`);
  }

  /** @returns all ids of sessions that are over */
  #ended(): string[] {
    const nowMs = this.#parts.now();
    return this.records().flatMap(record => {
      const holder = record.key === null ? null : {key: record.key, sha256: record.credential_sha256};
      const isSame = holder !== null || record.credential_sha256 === this.#parts.adminSha256;
      const isValid = isSame && nowMs < Math.min(record.ends_at, this.#idleEndOf(record), this.#endOf(holder));
      return isValid ? [] : [record.id];
    });
  }

  #endOf(holder: Holder): number {
    return holder === null ? Number.POSITIVE_INFINITY : this.#parts.keys.endOf(holder.key, holder.sha256);
  }

  #lastUseOf({id, created_at}: SessionRecord): number {
    return this.#usedMs.get(id) ?? created_at;
  }

  #idleEndOf(record: SessionRecord): number {
    return Math.min(record.ends_at, this.#lastUseOf(record) + SESSION_IDLE_MS);
  }

  async #end(id: string): Promise<void> {
    this.#remove(id);
    await this.#parts.tellRouters({type: 'session_removed', session: id});
  }

  #remove(id: string): void {
    this.#records.delete(id);
    this.#usedMs.delete(id);
    this.#unwritten.delete(id);
    try {
      this.#store?.remove(id);
    } catch (caught) {
      // It has ended in memory; the next start finds out by its times, or ends it with the next sign-out.
      if (!(caught instanceof ServiceError)) throw caught;
      this.#parts.log.warn('the end of a session cannot be written', {session: id, error: caught});
    }
  }

  /** The code of a one-time link. @throws op.rate_limited 429 */
  makeCode(holder: Holder): Omit<DashboardCode, 'url'> {
    const nowMs = this.#parts.now();
    for (const [digest, {endsMs}] of this.#codes) if (endsMs <= nowMs) this.#codes.delete(digest);
    const own = [...this.#codes].filter(([, code]) => code.holder?.key === holder?.key);
    if (own.length >= DASHBOARD_CODES_OF_CREDENTIAL_MAX) this.#codes.delete(own[0]![0]);
    if (this.#codes.size >= DASHBOARD_CODES_MAX) {
      throw new ServiceError(
        'op.rate_limited',
        `there are ${DASHBOARD_CODES_MAX} one-time links: try again in a minute`,
      );
    }
    const code = randomBytes(SECRET_BYTES).toString('base64url');
    const endsMs = nowMs + DASHBOARD_CODE_MS;
    this.#codes.set(hash('sha256', code, 'hex'), {holder, endsMs});
    return {code, expires_at: endsMs};
  }

  /** @throws auth.unauthorized 401 */
  #takeCode(code: string): Holder {
    const digest = hash('sha256', code, 'hex');
    const known = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (known !== undefined && this.#parts.now() < known.endsMs) return known.holder;
    throw new ServiceError(
      'auth.unauthorized',
      `this link was used, or is older than ${DASHBOARD_CODE_MS / 1000} s: svc dashboard makes another one`,
    );
  }

  #writeUses(): void {
    if (this.#store === null || this.#unwritten.size === 0) return;
    try {
      this.#store.used(this.#unwritten);
      this.#unwritten.clear();
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#parts.log.warn('when sessions were used cannot be written', {error: caught}); // retried later
    }
  }
}

function isSeen(actor: Actor, {key}: SessionRecord): boolean {
  return actor === null || actor === key;
}

/** Sessions can be opened again, so an unusable file is moved aside. */
function openStore({path, now, log}: SessionsParts): KeyStore<SessionRecord> | null {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return new KeyStore<SessionRecord>(path, SESSIONS_FILE);
    } catch (caught) {
      if (!(caught instanceof DatabaseUnusable)) throw caught;
      const aside = attempt === 0 && existsSync(path) ? putAside(path, now()) : null;
      log.error('the sessions of the dashboard cannot be read: all users must sign in again', {
        path,
        aside,
        error: caught,
      });
    }
  }
  return null;
}
