/**
 * Space of the fullest NATS server until its `max_file_store`, as their monitoring pages reported it at the newest reading, less
 * what this process has sent since. A server without space stores nothing more of any stream, also not the leases of hosts,
 * and stops being equal to the others, so that acknowledged records are lost (decision 0113). So part of it is reserved: for
 * that, and because other processes write as well. A server that is down counts as none; one that runs without its page has
 * what it had, less what the others have stored since.
 */
import {NATS_RESERVE_BYTES, NATS_RESERVE_SHARE} from '../limits.ts';
import type {StreamName} from '../log/log-engine.ts';
import type {MonitorPages} from './monitor-pages.ts';

/**
 * The part of `/jsz` that is read. `max_storage`: without `max_file_store`, a share of the disk. Only the page of the leader has
 * `replicas`, which are the other servers.
 */
type Jsz = {
  readonly config?: {readonly max_storage?: unknown};
  readonly storage?: unknown;
  readonly meta_cluster?: {readonly replicas?: readonly {readonly offline?: unknown}[]};
} | null;

/** In bytes, below 0 if more is stored. */
type Space = {
  /** Until the reserve. */
  readonly free: number;
  /** Until half of the reserve. */
  readonly last: number;
  /** Of all streams. */
  readonly stored: number;
};

/** A page, and what the others reported when it was read last. */
type Seen = {readonly space: Space; readonly beside: readonly (Space | null)[]};

export class ServerSpace {
  readonly #pages: Pick<MonitorPages, 'readAll'>;
  /** Null: no page was read yet, or none has a limit. */
  #space: Omit<Space, 'stored'> | null = null;
  /** By the numbers of the pages. */
  readonly #seen: Seen[] = [];
  #hidden = 0;

  constructor(pages: Pick<MonitorPages, 'readAll'>) {
    this.#pages = pages;
  }

  /** For new writes and bases. Null: no limit is known. */
  get freeBytes(): number | null {
    return this.#space === null ? null : Math.max(0, this.#space.free);
  }

  /** Servers that run, as far as the others know, and whose pages could not be read. Their space is estimated, if one was read before. */
  get hidden(): number {
    return this.#hidden;
  }

  /** Whether the servers have space for a message. A record of a log may use half of the reserve: its commit was made before. */
  takes({kind}: StreamName, bytes: number): boolean {
    if (this.#space === null || kind === 'records') return true;
    return bytes <= (kind === 'log' ? this.#space.last : this.#space.free);
  }

  spend(bytes: number): void {
    if (this.#space === null) return;
    const {free, last} = this.#space;
    this.#space = {free: free - bytes, last: last - bytes};
  }

  /** What is known stays if no page can be read. */
  async read(): Promise<void> {
    const pages = (await this.#pages.readAll('/jsz')) as Jsz[];
    const spaces = pages.map(spaceIn);
    const unread = pages.filter(page => page === null).length;
    this.#hidden = Math.max(0, unread - offlineIn(pages));
    if (spaces.every(space => space === null)) return;
    for (const [i, space] of spaces.entries()) if (space !== null) this.#seen[i] = {space, beside: spaces};
    const known = spaces.map(
      (space, i) => space ?? (this.#hidden > 0 && pages[i] === null ? this.#guess(i, spaces) : null),
    );
    const least = (of: 'free' | 'last') => Math.min(...known.flatMap(space => (space === null ? [] : [space[of]])));
    this.#space = {free: least('free'), last: least('last')};
  }

  /** It has stored as much since as the one that has stored most. */
  #guess(i: number, spaces: readonly (Space | null)[]): Space | null {
    const seen = this.#seen[i];
    if (seen === undefined) return null;
    const {space, beside} = seen;
    const since = spaces.map((now, j) => (now === null ? 0 : now.stored - (beside[j]?.stored ?? now.stored)));
    const more = Math.max(0, ...since);
    return {free: space.free - more, last: space.last - more, stored: space.stored + more};
  }
}

/** Servers that are down. 0: the leader's page was not read, so none is known to be. */
function offlineIn(pages: readonly Jsz[]): number {
  const counts = pages.map(page => (page?.meta_cluster?.replicas ?? []).filter(({offline}) => offline === true).length);
  return Math.max(0, ...counts);
}

/** Null: the page cannot be read, or has no limit. */
function spaceIn(page: Jsz): Space | null {
  const [most, stored] = [page?.config?.max_storage, page?.storage];
  if (typeof most !== 'number' || typeof stored !== 'number' || most <= 0) return null;
  const reserved = Math.min(NATS_RESERVE_BYTES, most * NATS_RESERVE_SHARE);
  return {free: Math.floor(most - reserved - stored), last: Math.floor(most - reserved / 2 - stored), stored};
}
