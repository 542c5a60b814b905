/**
 * The work that a writer does in idle time: compacts one tenant after the other, and removes objects that nothing needs.
 * A turn is one bounded part of it. A tenant that has not changed is looked at once a day.
 */
import {COMPACT_CHANGED_MS, COMPACT_UNCHANGED_MS, REMOVE_EVERY_MS} from '../limits.ts';
import {type Compacted, compact} from './compact.ts';
import {removeUnneeded} from './expire.ts';
import type {RepositoryWriter} from './repository-writer.ts';
import type {Policy} from './retention.ts';
import {SERVER} from './tenant-copies.ts';

export type HousekeepingOptions = {
  readonly writer: RepositoryWriter;
  /** A directory for files that are removed again. */
  readonly scratch: string;
  readonly policy: Policy | null;
  readonly now: () => number;
};

/** What a turn did. Null: nothing was due. */
export type Turn =
  | {readonly did: 'compacted'; readonly tenant: string; readonly compacted: Compacted}
  | {readonly did: 'removed'; readonly objects: number; readonly bytes: number}
  | null;

/** When a tenant is due, and where it was when nothing was left to do. */
type Due = {atMs: number; doneMs: number; commit: number};

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #due = new Map<string, Due>();
  #removeAtMs: number;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#removeAtMs = options.now() + COMPACT_CHANGED_MS;
  }

  /** @throws RepositoryError; StoreError; PageSetError; errors of the file system: the tenant is due again later */
  async turn(): Promise<Turn> {
    const {writer, scratch, policy, now} = this.#options;
    const nowMs = now();
    const tenant = this.#nextTenant(nowMs);
    if (tenant !== null) {
      const due = this.#due.get(tenant)!;
      due.atMs = nowMs + COMPACT_CHANGED_MS;
      const compacted = await compact(writer, tenant, {scratch, policy, nowMs});
      if (compacted !== null)
        due.atMs = nowMs; // there can be more
      else [due.doneMs, due.commit] = [nowMs, writer.newest(tenant)?.commit ?? 0];
      return compacted === null ? null : {did: 'compacted', tenant, compacted};
    }
    if (nowMs < this.#removeAtMs) return null;
    this.#removeAtMs = nowMs + REMOVE_EVERY_MS;
    const {objects, bytes} = await removeUnneeded(writer, {nowMs});
    return {did: 'removed', objects, bytes};
  }

  /** The one that has been due for the longest time. */
  #nextTenant(nowMs: number): string | null {
    const {writer} = this.#options;
    let [next, oldestMs]: [string | null, number] = [null, nowMs];
    for (const tenant of writer.tenants) {
      if (tenant === SERVER) continue;
      const due = this.#due.get(tenant) ?? {atMs: nowMs + COMPACT_CHANGED_MS, doneMs: 0, commit: -1};
      this.#due.set(tenant, due);
      const isUnchanged = writer.newest(tenant)?.commit === due.commit && nowMs < due.doneMs + COMPACT_UNCHANGED_MS;
      if (due.atMs <= oldestMs && !isUnchanged) [next, oldestMs] = [tenant, due.atMs];
    }
    return next;
  }
}
