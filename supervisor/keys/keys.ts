/**
 * All keys: decides who can make, rotate and end which, and sends changes to routers. A change is on disk before any
 * router gets it, and at all routers before it is answered: once a revocation is answered, the key is refused
 * everywhere.
 *
 * In a cluster a change is in its log before any router gets it, and the file is a copy: each host receives the keys of
 * all hosts. When a key was used is noted on each host for itself.
 *
 * If the file is unusable, no key is valid, and every request about keys gets the reason.
 */
import {hash} from 'node:crypto';
import {isDeepStrictEqual} from 'node:util';
import Database from 'better-sqlite3';
import {conflict, notFound, ServiceError} from '../../shared/errors.ts';
import type {ClusterToSupervisor, KeyChanged} from '../../shared/ipc/cluster.ts';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import {type Actor, ALL_RIGHTS, covers, type Grant, type KeyRecord, type KeyRequest} from '../../shared/ipc/keys.ts';
import {newKeyId, newKeySecret} from '../../shared/key-secret.ts';
import type {Logger} from '../../shared/log.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import {type Copyable, DatabaseUnusable} from '../files/own-database.ts';
import {KEY_USES_WRITE_MS} from '../limits.ts';
import {familyOf, makeRoom} from './key-quota.ts';
import {KEYS_FILE, KeyStore} from './key-store.ts';

/** The keys of all hosts. Each change is received as well, before it is answered. */
export type KeyCluster = {
  /** Resolves when all keys were received. */
  keyTurn: () => Promise<number>;
  putKey: (key: KeyRecord, turn: number) => Promise<KeyChanged>;
  removeKey: (key: string) => Promise<void>;
};

export type KeysParts = {
  path: string;
  /** Null: the server is not part of a cluster. */
  cluster: KeyCluster | null;
  /** Resolves when every router has applied it. */
  tellRouters: (message: SupervisorToRouter) => Promise<void>;
  /** Epoch milliseconds. */
  now: () => number;
  log: Logger;
};

/** @property gone keys that make room for it */
type Change = {record: KeyRecord; gone: string[]};

export class Keys {
  readonly #parts: KeysParts;
  /** Null: the file is unusable, for this reason. */
  readonly #store: KeyStore<KeyRecord> | null;
  readonly #fault: string = '';
  readonly #records = new Map<string, KeyRecord>();
  readonly #damaged = new Set<string>();
  readonly #usedMs = new Map<string, number>();
  /** The part of `usedMs` that is not on disk yet. */
  readonly #unwritten = new Map<string, number>();
  /** Keys that the cluster has, or had. */
  readonly #inCluster = new Set<string>();
  /** Resolves when the routers have applied all that was received. */
  #applied: Promise<unknown> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: KeysParts) {
    this.#parts = parts;
    try {
      this.#store = new KeyStore<KeyRecord>(parts.path, KEYS_FILE);
      this.#read(this.#store);
    } catch (caught) {
      if (!(caught instanceof DatabaseUnusable)) throw caught;
      this.#store = null;
      this.#fault = `the file of keys ${parts.path} ${caught.message}`;
      parts.log.error('no key is valid: their file cannot be used', {path: parts.path, error: caught});
    }
    this.#timer = setInterval(() => this.#writeUses(), KEY_USES_WRITE_MS).unref();
  }

  /** All records, for a router that starts. */
  records(): KeyRecord[] {
    return Array.from(this.#records.values(), record => this.#forRouters(record));
  }

  /** Null: the file cannot be used. */
  get copyable(): Copyable | null {
    return this.#store?.copyable ?? null;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#writeUses();
    this.#store?.close();
  }

  nameOf(id: string): string | null {
    return this.#records.get(id)?.name ?? null;
  }

  /** When this secret of the key ends, in epoch milliseconds; 0: the key has no such secret. */
  endOf(id: string, sha256: string): number {
    const record = this.#records.get(id);
    const secret = record?.secrets.find(one => one.sha256 === sha256);
    if (record === undefined || secret === undefined) return 0;
    return Math.min(record.expires_at ?? Number.POSITIVE_INFINITY, secret.expires_at ?? Number.POSITIVE_INFINITY);
  }

  /** A router reports which keys were used since its last report. */
  used(ids: readonly string[]): void {
    const nowMs = this.#parts.now();
    for (const id of ids) {
      if (!this.#records.has(id)) continue;
      this.#usedMs.set(id, nowMs);
      this.#unwritten.set(id, nowMs);
    }
  }

  /** @throws ServiceError */
  async perform(request: KeyRequest): Promise<unknown> {
    try {
      return await this.#perform(request);
    } catch (caught) {
      throw this.#asDamage(caught);
    }
  }

  async #perform(request: KeyRequest): Promise<unknown> {
    const store = this.#usable();
    const held = this.#grantOf(request.actor);
    switch (request.action) {
      case 'key_list':
        return this.#list(held);
      case 'key_get':
        return {key: this.#view(this.#within(held, request.key))};
      case 'key_create':
        return await this.#create(store, held, request);
      case 'key_rotate':
        return await this.#rotate(store, held, request);
      case 'key_revoke':
        return await this.#revoke(store, held, request.key);
    }
  }

  /** A key of the cluster, which is valid from now on, or is not any more. */
  received(notice: Extract<ClusterToSupervisor, {type: 'key_is' | 'key_gone'}>): void {
    if (this.#store === null) return;
    const id = notice.type === 'key_is' ? notice.key.id : notice.key;
    const before = this.#records.get(id);
    this.#inCluster.add(id);
    this.#damaged.delete(id);
    try {
      if (notice.type === 'key_gone') {
        if (before !== undefined) this.#store.remove(id);
      } else if (!isDeepStrictEqual(before, notice.key)) this.#store.put(notice.key);
    } catch (error) {
      this.#parts.log.warn('the copy of a key of the cluster could not be changed; the next start tries again', {
        error,
      });
    }
    const applied = notice.type === 'key_is' ? this.#tell(notice.key) : this.#forget(id);
    this.#applied = Promise.all([this.#applied, applied]);
  }

  /** Keys that the cluster never had, when all of its keys were received. */
  unknownToCluster(): KeyRecord[] {
    return [...this.#records.values()].filter(({id}) => !this.#inCluster.has(id));
  }

  #read(store: KeyStore<KeyRecord>): void {
    const {records, damaged, usedMs} = store.read();
    for (const record of records) this.#records.set(record.id, record);
    for (const id of damaged) this.#damaged.add(id);
    for (const [id, ms] of usedMs) this.#usedMs.set(id, ms);
    if (damaged.length > 0) this.#parts.log.error('keys are not valid: their records are damaged', {keys: damaged});
  }

  /** @throws op.storage_damaged 503 */
  #usable(): KeyStore<KeyRecord> {
    if (this.#store !== null) return this.#store;
    throw new ServiceError(
      'op.storage_damaged',
      `${this.#fault}; no key is valid. Stop the server, move the file away, and create the keys again`,
    );
  }

  /** Damage detected at run time: known keys stay valid, and nothing can be changed. */
  #asDamage(caught: unknown): unknown {
    if (!(caught instanceof Database.SqliteError) || !/^SQLITE_(CORRUPT|NOTADB)/.test(caught.code)) return caught;
    return new ServiceError(
      'op.storage_damaged',
      `the file of keys ${this.#parts.path} is damaged, and they cannot be changed: stop the server, move the file away, and create the keys again`,
      undefined,
      {cause: caught},
    );
  }

  /** @throws auth.unauthorized 401 for a key that ended during its request */
  #grantOf(actor: Actor): Grant {
    if (actor === null) return ALL_RIGHTS;
    const record = this.#records.get(actor);
    if (record === undefined) throw new ServiceError('auth.unauthorized', 'this key was revoked');
    return record;
  }

  #list(held: Grant): {keys: Key[]; damaged: string[]} {
    const shown = [...this.#records.values()].filter(record => covers(held, record));
    const keys = shown.map(record => this.#view(record)).sort(byName);
    return {keys, damaged: held === ALL_RIGHTS ? [...this.#damaged].sort() : []};
  }

  async #create(
    store: KeyStore<KeyRecord>,
    held: Grant,
    request: KeyRequest & {action: 'key_create'},
  ): Promise<{key: Key; secret: string}> {
    const {record, secret} = await this.#change(store, () => this.#newKey(held, request));
    return {key: this.#view(record), secret};
  }

  #newKey(held: Grant, {actor, name, grant}: KeyRequest & {action: 'key_create'}): Change & {secret: string} {
    if (!covers(held, grant)) throw tooMuch('made', held);
    // Names of keys with more rights are invisible to the creator, so they do not count as taken.
    for (const other of this.#records.values()) {
      if (other.name === name && covers(held, other)) throw conflict(`there is a key ${JSON.stringify(name)} already`);
    }
    const nowMs = this.#parts.now();
    const maker = actor === null ? undefined : this.#records.get(actor);
    const family = maker === undefined ? null : familyOf(maker, this.#records);
    const gone = makeRoom(this.#records, family, nowMs);
    const id = newKeyId();
    const secret = newKeySecret(id);
    const {scopes, tenants, tables, expires_at, rate_limit} = grant;
    const record: KeyRecord = {
      ...{id, name, scopes, tenants, tables, expires_at, rate_limit},
      created_at: nowMs,
      created_by: actor,
      ...(family === null ? {} : {family}),
      secrets: [{sha256: hash('sha256', secret, 'hex'), created_at: nowMs, expires_at: null}],
    };
    return {record, gone, secret};
  }

  async #rotate(
    store: KeyStore<KeyRecord>,
    held: Grant,
    {key, overlapMs}: KeyRequest & {action: 'key_rotate'},
  ): Promise<{key: Key; secret: string}> {
    const {record, secret} = await this.#change(store, () => this.#rotated(this.#within(held, key), overlapMs));
    return {key: this.#view(record), secret};
  }

  /** The previous secret stays valid for a while; an older one that is still valid ends now. */
  #rotated(record: KeyRecord, overlapMs: number): Change & {secret: string} {
    const secret = newKeySecret(record.id);
    const nowMs = this.#parts.now();
    const older = record.secrets.slice(0, overlapMs > 0 ? 1 : 0).map(one => ({...one, expires_at: nowMs + overlapMs}));
    const newest = {sha256: hash('sha256', secret, 'hex'), created_at: nowMs, expires_at: null};
    return {record: {...record, secrets: [newest, ...older]}, gone: [], secret};
  }

  /**
   * Resolves when all routers of this host have the change.
   * @param make decides by the keys that there are. In a cluster it is called again if another host was first
   */
  async #change<C extends Change>(store: KeyStore<KeyRecord>, make: () => C): Promise<C> {
    const {cluster} = this.#parts;
    if (cluster === null) {
      const change = make();
      const {record, gone} = change;
      store.put(record, gone);
      this.#records.set(record.id, record); // reserves its name from now on
      for (const old of gone) await this.#forget(old);
      await this.#tell(record);
      return change;
    }
    for (;;) {
      const turn = await cluster.keyTurn();
      const change = make();
      const outcome = await cluster.putKey(change.record, turn);
      if (outcome === 'again') continue;
      if (outcome === 'removed') throw conflict('this key was revoked meanwhile');
      for (const old of change.gone) await cluster.removeKey(old);
      await this.#applied;
      return change;
    }
  }

  async #revoke(store: KeyStore<KeyRecord>, held: Grant, id: string): Promise<null> {
    if (held === ALL_RIGHTS && this.#damaged.has(id)) {
      store.remove(id);
      this.#damaged.delete(id);
      return null;
    }
    this.#within(held, id);
    if (this.#parts.cluster !== null) {
      await this.#parts.cluster.removeKey(id);
      await this.#applied;
      return null;
    }
    store.remove(id);
    await this.#forget(id);
    return null;
  }

  async #tell(record: KeyRecord): Promise<void> {
    this.#records.set(record.id, record);
    await this.#parts.tellRouters({type: 'key_put', key: this.#forRouters(record)});
  }

  /** Adds the family, which records of earlier versions lack. */
  #forRouters(record: KeyRecord): KeyRecord {
    return record.created_by === null ? record : {...record, family: familyOf(record, this.#records)};
  }

  async #forget(id: string): Promise<void> {
    this.#records.delete(id);
    this.#usedMs.delete(id);
    this.#unwritten.delete(id);
    await this.#parts.tellRouters({type: 'key_removed', key: id});
  }

  /** @throws op.not_found 404; auth.forbidden 403 when the key has more rights than the requester */
  #within(held: Grant, id: string): KeyRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw notFound(`there is no key ${JSON.stringify(id.slice(0, 64))}`);
    if (!covers(held, record)) throw tooMuch('touched', held);
    return record;
  }

  #view({secrets, family: _, ...record}: KeyRecord): Key {
    const nowMs = this.#parts.now();
    const valid = secrets.filter(({expires_at}) => expires_at === null || expires_at > nowMs);
    const shown = valid.map(({created_at, expires_at}) => ({created_at, expires_at}));
    return {...record, last_used_at: this.#usedMs.get(record.id) ?? null, secrets: shown} as Key;
  }

  #writeUses(): void {
    if (this.#store === null || this.#unwritten.size === 0) return;
    try {
      this.#store.used(this.#unwritten);
      this.#unwritten.clear();
    } catch (thrown) {
      const caught = this.#asDamage(thrown);
      if (!(caught instanceof ServiceError)) throw caught;
      this.#parts.log.warn('when keys were used cannot be written', {error: caught}); // retried later
    }
  }
}

/** Several keys may have one name, if the creator of one could not see the others. */
function byName(a: Key, b: Key): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

function tooMuch(what: string, {scopes, tenants, tables}: Grant): ServiceError {
  return new ServiceError('auth.forbidden', `a key that may do more than the one you use cannot be ${what} by it`, {
    scopes,
    tenants,
    tables,
  });
}
