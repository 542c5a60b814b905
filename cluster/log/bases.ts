/**
 * Bases of tenants: files of any size, in parts. A small record lists the bases of a tenant. A base is there once the list
 * has it, so one whose writer ended is never read.
 *
 * A base that is being written is on the list of what is to be removed: the next writer removes its parts, and the first
 * one, if it still lives, finds the list changed.
 */
import {createHash, randomBytes} from 'node:crypto';
import type {Source} from '../../engine/copies/bytes.ts';
import {BASES_KEPT} from '../limits.ts';
import {type BaseInfo, type BaseList, decodeBaseList, encodeBaseList} from './base-list.ts';
import type {LogEngine} from './log-engine.ts';
import type {LogPosition} from './record.ts';
import type {SmallRecords} from './small-records.ts';
import {type NotStored, StoredList} from './stored-list.ts';
import {StoredParts} from './stored-parts.ts';
import type {Subjects, TenantName} from './subjects.ts';
import type {Timing} from './timing.ts';

export type StoredBase = {readonly kind: 'stored'; readonly base: BaseInfo} | NotStored;

export class Bases {
  readonly #parts: StoredParts;
  readonly #subjects: Subjects;
  readonly #list: StoredList<BaseList>;

  constructor(engine: LogEngine, timing: Timing, subjects: Subjects, records: SmallRecords) {
    this.#parts = new StoredParts(engine, timing);
    this.#subjects = subjects;
    this.#list = new StoredList(records, 'base', {
      encode: encodeBaseList,
      decode: decodeBaseList,
      empty: {bases: [], garbage: []},
    });
  }

  /** Oldest first. @throws LogError, EngineError */
  async list(tenant: TenantName): Promise<readonly BaseInfo[]> {
    return (await this.#list.read(tenant)).list.bases;
  }

  /**
   * Stores a base, and removes those before the newest `BASES_KEPT`. `superseded`: another host has stored or stores one,
   * which has more records.
   * @param base.position of the newest record that it contains. @param base.openedBy note of the newest `open` up to there
   * @throws LogError, EngineError
   */
  async put(
    tenant: TenantName,
    base: {position: LogPosition; openedBy: string; file: Source},
    signal?: AbortSignal,
  ): Promise<StoredBase> {
    const id = randomBytes(16).toString('hex');
    const before = await this.#list.read(tenant);
    const {garbage} = before.list;
    // Readers begin with the last one. A log that lost its tail goes on in a higher epoch.
    const newest = before.list.bases.at(-1)?.position;
    const isOlder = newest !== undefined && newest.n > base.position.n && newest.epoch >= base.position.epoch;
    if (isOlder) return {kind: 'superseded'};
    const noted = await this.#list.set(tenant, before, {...before.list, garbage: [...garbage, id]}, signal);
    if ('kind' in noted) return noted;
    for (const old of garbage) await this.#parts.remove(this.#subjects.base(tenant, old));
    // A stream without space is tried again and again: the list must not grow with it.
    const begun =
      garbage.length === 0 ? noted : await this.#list.set(tenant, noted, {...before.list, garbage: [id]}, signal);
    if ('kind' in begun) return begun;
    const subject = this.#subjects.base(tenant, id);
    const sum = createHash('sha256');
    const isListed = async () => (await this.#list.read(tenant)).revision === begun.revision;
    const failure = await this.#parts.send(subject, {file: base.file, sum, isListed}, signal);
    if (failure !== null) return failure;

    const {position, openedBy, file} = base;
    const info: BaseInfo = {id, position, openedBy, bytes: file.length, sha256: sum.digest()};
    const all = [...before.list.bases, info];
    const dropped = all.splice(0, Math.max(0, all.length - BASES_KEPT)).map(old => old.id);
    const stored = await this.#list.set(tenant, begun, {bases: all, garbage: dropped}, signal);
    if ('kind' in stored) return stored;
    // From here on it is stored. What cannot be removed now stays on the list, and the next base removes it.
    for (const old of dropped) await this.#parts.remove(this.#subjects.base(tenant, old));
    return {kind: 'stored', base: info};
  }

  /**
   * Removes all bases of a deleted tenant. Call it again until it returns true: another host can be writing one.
   * @throws LogError, EngineError
   */
  async removeAll(tenant: TenantName, signal?: AbortSignal): Promise<boolean> {
    const before = await this.#list.read(tenant);
    const ids = [...before.list.garbage, ...before.list.bases.map(({id}) => id)];
    if (ids.length === 0) {
      await this.#list.erase(tenant, before);
      return true;
    }
    const emptied = await this.#list.set(tenant, before, {bases: [], garbage: ids}, signal);
    if ('kind' in emptied) return false;
    for (const id of ids) await this.#parts.remove(this.#subjects.base(tenant, id));
    const ended = await this.#list.set(tenant, emptied, {bases: [], garbage: []}, signal);
    if ('kind' in ended) return false;
    await this.#list.erase(tenant, ended);
    return true;
  }

  /**
   * The bytes of a base, in parts. The last one is returned after the SHA-256 of all was compared.
   * @throws LogError: it was removed meanwhile, or is damaged; EngineError
   */
  async *read(tenant: TenantName, base: BaseInfo): AsyncGenerator<Buffer> {
    const {id, bytes, sha256} = base;
    yield* this.#parts.read(this.#subjects.base(tenant, id), {
      what: `the base ${id}`,
      bytes,
      digest: ['sha256', sha256],
    });
  }
}
