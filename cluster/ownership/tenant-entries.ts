/**
 * Changes entries of tenants, each by its revision. Whether a tenant exists is what its entry says; a tenant that is made
 * again under the same id has a higher generation, which no tenant of the cluster had before.
 */
import type {SetDecision, SmallRecords} from '../log/small-records.ts';
import type {TenantName} from '../log/subjects.ts';
import {findEntry, findTenant} from './claim.ts';
import {encodeTenant, newTenant, type TenantRecord, tenantKey} from './tenant-record.ts';

/** The newest generation, as decimal digits. */
const GENERATION_KEY = 'counter.generation';

export type EntryOutcome =
  | {readonly kind: 'stored'; readonly record: TenantRecord}
  /** There is one already, or there is none. */
  | {readonly kind: 'exists'}
  | {readonly kind: 'missing'}
  | {readonly kind: 'full'}
  | {readonly kind: 'abandoned'};

export class TenantEntries {
  readonly #records: SmallRecords;
  readonly #signal: AbortSignal;
  /** The newest notice of each tenant that is not stored yet. */
  readonly #due = new Map<string, Promise<EntryOutcome>>();

  constructor(records: SmallRecords, signal: AbortSignal) {
    this.#records = records;
    this.#signal = signal;
  }

  /** @throws LogError, EngineError */
  async create(id: string, nowMs: number): Promise<EntryOutcome> {
    const generation = await this.reserve(id);
    if (typeof generation === 'string') return {kind: generation};
    return await this.add(id, newTenant(generation, nowMs));
  }

  /** @returns a generation for a tenant that does not exist yet. @throws LogError, EngineError */
  async reserve(id: string): Promise<number | 'exists' | 'full' | 'abandoned'> {
    if ((await findTenant(this.#records, id)) !== null) return 'exists';
    return await this.#nextGeneration();
  }

  /**
   * Of a generation that only this tenant has. @returns `stored` as well if that is there already; `missing`: it is deleted, or
   * was given up for a host that had ended. @throws LogError, EngineError
   */
  async add(id: string, entry: TenantRecord): Promise<EntryOutcome> {
    for (;;) {
      const before = await findEntry(this.#records, id);
      if (before?.record.generation === entry.generation)
        return before.record.isDeleted ? {kind: 'missing'} : {kind: 'stored', record: before.record};
      // A later one can have been made and deleted since the generation was reserved.
      const isLater = before !== null && before.record.generation > entry.generation;
      if (before !== null && (isLater || !before.record.isDeleted)) return {kind: 'exists'};
      // A host and an epoch name a worker: no worker of the deleted tenant has the name of one of this tenant.
      const record = {...entry, epoch: Math.max(entry.epoch, before?.record.epoch ?? 0)};
      const decision = await this.#set(tenantKey(id), encodeTenant(record), before?.revision ?? 0);
      if (decision.kind === 'stored') return {kind: 'stored', record};
      if (decision.kind !== 'conflict') return {kind: decision.kind};
    }
  }

  /**
   * Makes sure that there never will be a tenant of this generation, unless there is one now.
   * @param isKnown there was one. Only an entry says that it is deleted
   * @returns `later`: it is not known, another change was first, or an earlier one of the same id is there
   * @throws LogError, EngineError
   */
  async bury({id, generation}: TenantName, isKnown: boolean): Promise<'there' | 'gone' | 'later'> {
    const before = await findEntry(this.#records, id);
    if (before?.record.generation === generation) return before.record.isDeleted ? 'gone' : 'there';
    if (before !== null && before.record.generation > generation) return 'gone';
    if (isKnown || (before !== null && !before.record.isDeleted)) return 'later';
    const epoch = before?.record.epoch ?? 0;
    const entry = {...newTenant(generation, before?.record.createdMs ?? 0), epoch, isDeleted: true};
    const {kind} = await this.#set(tenantKey(id), encodeTenant(entry), before?.revision ?? 0);
    return kind === 'stored' ? 'gone' : 'later';
  }

  /** @returns `stored` with the entry as it is now, which has the last owner, or is that of a later generation. @throws LogError, EngineError */
  remove({id, generation}: TenantName): Promise<EntryOutcome> {
    return this.update(id, record =>
      record.generation === generation ? {...record, dueMs: null, isDeleted: true} : record,
    );
  }

  /** @param change returns what it got if nothing changes. @throws LogError, EngineError */
  async update(id: string, change: (record: TenantRecord) => TenantRecord): Promise<EntryOutcome> {
    for (;;) {
      const found = await findTenant(this.#records, id);
      if (found === null) return {kind: 'missing'};
      const next = change(found.record);
      if (next === found.record) return {kind: 'stored', record: next};
      const decision = await this.#set(tenantKey(id), encodeTenant(next), found.revision);
      if (decision.kind === 'stored') return {kind: 'stored', record: next};
      if (decision.kind !== 'conflict') return {kind: decision.kind};
    }
  }

  /**
   * When the tenant has work again. Notices are stored in the order in which they are given.
   * @param isOurs whether the notice still counts. @throws LogError, EngineError
   */
  setDue(id: string, dueMs: number | null, isOurs: (record: TenantRecord) => boolean): Promise<EntryOutcome> {
    const change = (record: TenantRecord) => (isOurs(record) && record.dueMs !== dueMs ? {...record, dueMs} : record);
    const update = () => this.update(id, change);
    const stored = this.#due.get(id)?.then(update, update) ?? update();
    this.#due.set(id, stored);
    const forget = () => {
      if (this.#due.get(id) === stored) this.#due.delete(id);
    };
    stored.then(forget, forget);
    return stored;
  }

  /**
   * For tenants that a server alone had: their generations become those of the cluster, and no tenant gets them later.
   * @returns what is added to each; 0: the cluster has had none from `first` on
   */
  async reserveGenerations({first, last}: {first: number; last: number}): Promise<number | 'full' | 'abandoned'> {
    for (;;) {
      const before = await this.#records.get(GENERATION_KEY);
      const newest = Number(before?.value?.toString() ?? '0');
      // Above `last`, so that the generation of a directory says whether it was changed.
      const added = newest < first ? 0 : Math.max(newest, last);
      const decision = await this.#set(GENERATION_KEY, Buffer.from(String(added + last)), before?.revision ?? 0);
      if (decision.kind === 'stored') return added;
      if (decision.kind !== 'conflict') return decision.kind;
    }
  }

  /** Later tenants get generations above this one, which files have. @throws EngineError */
  async raiseGenerations(last: number): Promise<SetDecision['kind']> {
    for (;;) {
      const before = await this.#records.get(GENERATION_KEY);
      if (Number(before?.value?.toString() ?? '0') >= last) return 'stored';
      const {kind} = await this.#set(GENERATION_KEY, Buffer.from(String(last)), before?.revision ?? 0);
      if (kind !== 'conflict') return kind;
    }
  }

  async #nextGeneration(): Promise<number | 'full' | 'abandoned'> {
    for (;;) {
      const before = await this.#records.get(GENERATION_KEY);
      const next = Number(before?.value?.toString() ?? '0') + 1;
      const decision = await this.#set(GENERATION_KEY, Buffer.from(String(next)), before?.revision ?? 0);
      if (decision.kind === 'stored') return next;
      if (decision.kind !== 'conflict') return decision.kind;
    }
  }

  async #set(key: string, value: Buffer, revision: number): Promise<SetDecision> {
    const outcome = await this.#records.set(key, value, revision, this.#signal);
    return outcome.kind === 'unknown' ? await outcome.decided : outcome;
  }
}
