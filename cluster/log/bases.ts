/**
 * Bases of tenants: files of any size, in messages of `PART_BYTES`, with two of them in memory. A small record lists the
 * bases of a tenant. A base is there once the list has it, so one whose writer ended is never read.
 *
 * Each part expects the part before it, so it is stored once and in its place. A base that is being written is on the
 * list of what is to be removed: the next writer removes its parts, and the first one, if it still lives, finds the list
 * changed.
 */
import {createHash, randomBytes} from 'node:crypto';
import type {Source} from '../../engine/copies/bytes.ts';
import {BASES_KEPT, PART_BYTES} from '../limits.ts';
import {type BaseInfo, type BaseList, decodeBaseList, encodeBaseList} from './base-list.ts';
import {bounded, type Decision, decidedAppend} from './decided-append.ts';
import type {LogEngine, Subject} from './log-engine.ts';
import {LogError} from './log-error.ts';
import {partOf} from './parts.ts';
import type {LogPosition} from './record.ts';
import type {SmallRecords} from './small-records.ts';
import {type Subjects, type TenantName, tokenOf} from './subjects.ts';
import type {Timing} from './timing.ts';

export type StoredBase =
  | {readonly kind: 'stored'; readonly base: BaseInfo}
  /** Another host writes a base of the tenant. */
  | {readonly kind: 'superseded'}
  | {readonly kind: 'full'}
  /** The signal was aborted, or no server answered whether it was stored. */
  | {readonly kind: 'abandoned'};

type Failure = Exclude<StoredBase, {kind: 'stored'}>;
type Listed = {readonly list: BaseList; readonly revision: number};

export class Bases {
  readonly #engine: LogEngine;
  readonly #timing: Timing;
  readonly #subjects: Subjects;
  readonly #records: SmallRecords;

  constructor(engine: LogEngine, timing: Timing, subjects: Subjects, records: SmallRecords) {
    this.#engine = engine;
    this.#timing = timing;
    this.#subjects = subjects;
    this.#records = records;
  }

  /** Oldest first. @throws LogError, EngineError */
  async list(tenant: TenantName): Promise<readonly BaseInfo[]> {
    return (await this.#listed(tenant)).list.bases;
  }

  /**
   * Stores a base, and removes those before the newest `BASES_KEPT`.
   * @param base.position of the newest record that it contains. @param base.openedBy note of the newest `open` up to there
   * @throws LogError, EngineError
   */
  async put(
    tenant: TenantName,
    base: {position: LogPosition; openedBy: string; file: Source},
    signal?: AbortSignal,
  ): Promise<StoredBase> {
    const id = randomBytes(16).toString('hex');
    const before = await this.#listed(tenant);
    const {garbage} = before.list;
    const noted = await this.#set(tenant, before, {...before.list, garbage: [...garbage, id]}, signal);
    if ('kind' in noted) return noted;
    for (const old of garbage) await this.#remove(this.#subjects.base(tenant, old));
    // A stream without space is tried again and again: the list must not grow with it.
    const begun =
      garbage.length === 0 ? noted : await this.#set(tenant, noted, {...before.list, garbage: [id]}, signal);
    if ('kind' in begun) return begun;
    const subject = this.#subjects.base(tenant, id);
    const sent = await this.#send(tenant, {subject, file: base.file, begun}, signal);
    if ('kind' in sent) return sent;

    const {position, openedBy, file} = base;
    const info: BaseInfo = {id, position, openedBy, bytes: file.length, sha256: sent.sha256};
    const all = [...before.list.bases, info];
    const dropped = all.splice(0, Math.max(0, all.length - BASES_KEPT)).map(old => old.id);
    const stored = await this.#set(tenant, begun, {bases: all, garbage: dropped}, signal);
    if ('kind' in stored) return stored;
    // From here on it is stored. What cannot be removed now stays on the list, and the next base removes it.
    for (const old of dropped) await this.#remove(this.#subjects.base(tenant, old));
    return {kind: 'stored', base: info};
  }

  /**
   * Removes all bases of a deleted tenant. Call it again until it returns true: another host can be writing one.
   * @throws LogError, EngineError
   */
  async removeAll(tenant: TenantName, signal?: AbortSignal): Promise<boolean> {
    const before = await this.#listed(tenant);
    const ids = [...before.list.garbage, ...before.list.bases.map(({id}) => id)];
    if (ids.length === 0) return true;
    const emptied = await this.#set(tenant, before, {bases: [], garbage: ids}, signal);
    if ('kind' in emptied) return false;
    for (const id of ids) await this.#remove(this.#subjects.base(tenant, id));
    return !('kind' in (await this.#set(tenant, emptied, {bases: [], garbage: []}, signal)));
  }

  /**
   * The bytes of a base, in parts. The last one is returned after the SHA-256 of all was compared.
   * @throws LogError: it was removed meanwhile, or is damaged; EngineError
   */
  async *read(tenant: TenantName, base: BaseInfo): AsyncGenerator<Buffer> {
    const subject = this.#subjects.base(tenant, base.id);
    const sum = createHash('sha256');
    let left = base.bytes;
    let next = partOf(this.#engine, subject, 1);
    while (left > 0) {
      const message = await next;
      if (message === null || message.bytes.length > left) throw damaged(base, `${left} bytes are missing`);
      sum.update(message.bytes);
      left -= message.bytes.length;
      if (left === 0 && !sum.digest().equals(base.sha256)) throw damaged(base, 'its SHA-256 is another one');
      if (left > 0) {
        // The next part is on its way while the caller has this one.
        next = partOf(this.#engine, subject, message.sequence + 1);
        next.catch(() => undefined); // the caller may stop before it is awaited
      }
      yield message.bytes;
    }
  }

  /** @param begun the list with the id of this base */
  async #send(
    tenant: TenantName,
    {subject, file, begun}: {subject: Subject; file: Source; begun: Listed},
    signal?: AbortSignal,
  ): Promise<{sha256: Buffer} | Failure> {
    const sum = createHash('sha256');
    let after = 0;
    for (let at = 0; at < file.length; at += PART_BYTES) {
      const bytes = file.read(at, Math.min(PART_BYTES, file.length - at));
      sum.update(bytes);
      const decision = await this.#sendPart(tenant, {subject, bytes, after, begun}, signal);
      if (decision.kind === 'refused' || decision.kind === 'unknowable') return {kind: 'superseded'};
      if (decision.kind !== 'stored') return decision;
      after = decision.sequence;
    }
    return {sha256: sum.digest()};
  }

  /** If the parts before it were removed, it is refused and has no successor: the list says so. */
  async #sendPart(
    tenant: TenantName,
    {subject, bytes, after, begun}: {subject: Subject; bytes: Buffer; after: number; begun: Listed},
    signal?: AbortSignal,
  ): Promise<Decision | Failure> {
    const end = new AbortController();
    const ended = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
    const judge = (message: {bytes: Buffer}) => (message.bytes.equals(bytes) ? 'same' : 'other');
    try {
      let decided = decidedAppend(this.#engine, this.#timing, {subject, bytes, after, judge}, ended);
      for (;;) {
        const decision = await bounded(decided, this.#timing);
        if (decision.kind !== 'unknown') return decision;
        if ((await this.#listed(tenant)).revision !== begun.revision) return {kind: 'superseded'};
        decided = decision.decided;
      }
    } finally {
      end.abort();
    }
  }

  async #listed(tenant: TenantName): Promise<Listed> {
    const record = await this.#records.get(keyOf(tenant));
    const list = record?.value ? decodeBaseList(record.value) : {bases: [], garbage: []};
    return {list, revision: record?.revision ?? 0};
  }

  async #set(tenant: TenantName, from: Listed, list: BaseList, signal?: AbortSignal): Promise<Listed | Failure> {
    const outcome = await this.#records.set(keyOf(tenant), encodeBaseList(list), from.revision, signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    switch (decision.kind) {
      case 'stored':
        return {list, revision: decision.revision};
      case 'conflict':
        return {kind: 'superseded'};
      default:
        return decision;
    }
  }

  /** All of it: its id is never used again. */
  async #remove(subject: Subject): Promise<void> {
    const last = await this.#engine.last(subject);
    if (last !== null) await this.#engine.removeBefore(subject, last.sequence + 1);
  }
}

function keyOf(tenant: TenantName): string {
  return `base.${tokenOf(tenant)}`;
}

function damaged({id}: BaseInfo, detail: string): LogError {
  return new LogError('damaged', `the base ${id}: ${detail}`);
}
