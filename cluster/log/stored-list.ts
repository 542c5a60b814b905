/** The small record that lists the files of a tenant in the store of the cluster, changed by compare-and-set. */
import type {SmallRecords} from './small-records.ts';
import {type TenantName, tokenOf} from './subjects.ts';

export type NotStored =
  /** Another host has changed the list. */
  | {readonly kind: 'superseded'}
  | {readonly kind: 'full'}
  /** The signal was aborted, or no server answered whether it was stored. */
  | {readonly kind: 'abandoned'};

export type Listed<L> = {readonly list: L; readonly revision: number};

/** @property decode throws LogError */
export type ListFormat<L> = {
  readonly encode: (list: L) => Buffer;
  readonly decode: (bytes: Buffer) => L;
  readonly empty: L;
};

export class StoredList<L> {
  readonly #records: SmallRecords;
  readonly #kind: 'base' | 'package';
  readonly #format: ListFormat<L>;

  constructor(records: SmallRecords, kind: 'base' | 'package', format: ListFormat<L>) {
    this.#records = records;
    this.#kind = kind;
    this.#format = format;
  }

  /** @throws LogError, EngineError */
  async read(tenant: TenantName): Promise<Listed<L>> {
    const record = await this.#records.get(this.#keyOf(tenant));
    const list = record?.value ? this.#format.decode(record.value) : this.#format.empty;
    return {list, revision: record?.revision ?? 0};
  }

  /** @param from what was read */
  async set(tenant: TenantName, from: Listed<L>, list: L, signal?: AbortSignal): Promise<Listed<L> | NotStored> {
    const bytes = this.#format.encode(list);
    const outcome = await this.#records.set(this.#keyOf(tenant), bytes, from.revision, signal);
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

  /** Of a deleted tenant, unless it was changed since it was read. @throws EngineError */
  async erase(tenant: TenantName, {revision}: Listed<L>): Promise<void> {
    await this.#records.erase(this.#keyOf(tenant), revision);
  }

  #keyOf(tenant: TenantName): string {
    return `${this.#kind}.${tokenOf(tenant)}`;
  }
}
