/**
 * The packages of one tenant beside its spool, from where the copier of this host stores them. They are in the store of the
 * cluster before the record of a deployment that needs them is in the log.
 *
 *   due ──fetched──▶ as the store was then ──the log has more──▶ due after a while, or when a flush waits
 *    ▲                 └── one could not be read: an election, or it is damaged ──▶ that one is due after a growing pause
 *    └── there is more than one step fetches
 */
import {existsSync, mkdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {backOffMs} from '../../shared/back-off.ts';
import {LOST_PACKAGES_FILE, PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {
  LOG_SPOOL_PACKAGES_BYTES,
  LOG_SPOOL_PACKAGES_MS,
  LOG_SPOOL_PACKAGES_RETRY_MS_MAX,
  STANDBY_REPORTED_FAILURES,
} from '../limits.ts';
import type {Packages} from '../log/packages.ts';
import type {TenantName} from '../log/subjects.ts';
import {fetchPackages} from './fetched-packages.ts';

export type SpooledPackagesParts = {
  readonly tenant: TenantName;
  readonly packages: Pick<Packages, 'list' | 'read'>;
  /** Has the spool. */
  readonly directory: string;
  /** Receives a sentence about what an operator should know. */
  readonly report: (sentence: string) => void;
};

type Lost = {sha512: string; failures: number; nextMs: number};

export class SpooledPackages {
  readonly #parts: SpooledPackagesParts;
  /** Null: the log has nothing new since they were fetched. */
  #dueMs: number | null = Number.NEGATIVE_INFINITY;
  #fetchedMs = 0;
  /** Those that could not be read, by their ids. */
  readonly #lost = new Map<string, Lost>();
  /** What the file for the copier has. Null: it is that of an earlier process. */
  #listed: string | null = null;

  constructor(parts: SpooledPackagesParts) {
    this.#parts = parts;
  }

  /** The log has more, which can be a deployment. */
  changed(): void {
    this.#dueMs = Math.min(this.#dueMs ?? Number.POSITIVE_INFINITY, this.#fetchedMs + LOG_SPOOL_PACKAGES_MS);
  }

  isDue(nowMs: number): boolean {
    return this.#dueMs !== null && nowMs >= this.#dueMs;
  }

  /**
   * @param isOver nothing of it is wanted any more
   * @returns whether the copier has to look: there are more than before, or others are lost; and whether none is left to be
   * fetched now
   * @throws LogError, EngineError; errors of the file system
   */
  async fetch(nowMs: number, isOver: () => boolean): Promise<{isMore: boolean; isDone: boolean}> {
    const {tenant, packages, directory, report} = this.#parts;
    const except = new Set([...this.#lost].flatMap(([id, {nextMs}]) => (nextMs > nowMs ? [id] : [])));
    const to = join(directory, PACKAGES_DIRECTORY);
    const {isMore, isDone, lost, listed} = await fetchPackages(packages, tenant, {
      ...{to, except, isOver, bytesMax: LOG_SPOOL_PACKAGES_BYTES},
    });
    const names = new Map(listed.map(({id, sha512}) => [id, sha512]));
    for (const id of this.#lost.keys()) {
      if (!names.has(id) || (!except.has(id) && !lost.has(id))) this.#lost.delete(id);
    }
    for (const [id, {message}] of lost) {
      const failures = (this.#lost.get(id)?.failures ?? 0) + 1;
      const pauseMs = backOffMs(LOG_SPOOL_PACKAGES_MS, LOG_SPOOL_PACKAGES_RETRY_MS_MAX, failures - 1);
      this.#lost.set(id, {sha512: names.get(id)!, failures, nextMs: nowMs + pauseMs});
      if (failures === STANDBY_REPORTED_FAILURES)
        report(`${message}, in NATS: the repository lacks it, of ${tenant.id}`);
    }
    const nextMs = Math.min(...[...this.#lost.values()].map(one => one.nextMs));
    this.#fetchedMs = nowMs;
    this.#dueMs = isDone ? (this.#lost.size === 0 ? null : nextMs) : nowMs;
    return {isMore: this.#list() || isMore, isDone};
  }

  /** Names the lost ones to the copier. @returns whether they are others than before */
  #list(): boolean {
    const {directory} = this.#parts;
    const listed = [...this.#lost.values()].map(({sha512}) => `${sha512}\n`).join('');
    const path = join(directory, LOST_PACKAGES_FILE);
    if (listed === (this.#listed ?? (existsSync(path) ? null : ''))) return false;
    if (listed === '') rmSync(path, {force: true});
    else {
      mkdirSync(directory, {recursive: true, mode: 0o700});
      writeFileSync(`${path}.next`, listed, {mode: 0o600});
      renameSync(`${path}.next`, path);
    }
    this.#listed = listed;
    return true;
  }
}
