/**
 * Space of the fullest NATS server until its `max_file_store`, as their monitoring pages reported it at the newest reading, less
 * what this process has sent since. A server without space stores nothing more of any stream, also not the leases of hosts,
 * and stops being equal to the others, so that acknowledged records are lost (decision 0113). So part of it is reserved: for
 * that, and because other processes write as well.
 */
import {NATS_RESERVE_BYTES, NATS_RESERVE_SHARE} from '../limits.ts';
import type {StreamName} from '../log/log-engine.ts';
import type {MonitorPages} from './monitor-pages.ts';

/** The part of `/jsz` that is read. `max_storage`: without `max_file_store`, a share of the disk. */
type Jsz = {readonly config?: {readonly max_storage?: unknown}; readonly storage?: unknown} | null;

/** In bytes, below 0 if more is stored. */
type Space = {
  /** Until the reserve. */
  readonly free: number;
  /** Until half of the reserve. */
  readonly last: number;
};

export class ServerSpace {
  readonly #pages: Pick<MonitorPages, 'readAll'>;
  /** Null: no page was read yet, or none has a limit. */
  #space: Space | null = null;

  constructor(pages: Pick<MonitorPages, 'readAll'>) {
    this.#pages = pages;
  }

  /** For new writes and bases. Null: no limit is known. */
  get freeBytes(): number | null {
    return this.#space === null ? null : Math.max(0, this.#space.free);
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
    const spaces = ((await this.#pages.readAll('/jsz')) as Jsz[]).map(spaceIn).filter(space => space !== null);
    if (spaces.length === 0) return;
    const least = (of: keyof Space) => Math.min(...spaces.map(space => space[of]));
    this.#space = {free: least('free'), last: least('last')};
  }
}

/** A server that is down, or whose page is, counts as none: the space of the others is known. */
function spaceIn(page: Jsz): Space | null {
  const [most, stored] = [page?.config?.max_storage, page?.storage];
  if (typeof most !== 'number' || typeof stored !== 'number' || most <= 0) return null;
  const reserved = Math.min(NATS_RESERVE_BYTES, most * NATS_RESERVE_SHARE);
  return {free: Math.floor(most - reserved - stored), last: Math.floor(most - reserved / 2 - stored)};
}
