/**
 * Space of the NATS servers until their `max_file_store`, as their monitoring pages report it. A server without space
 * stores nothing more of any stream, also not the leases of hosts, so that reads end as well. So part of it is reserved.
 */
import {NATS_RESERVE_BYTES, NATS_RESERVE_SHARE} from '../limits.ts';
import type {MonitorPages} from './monitor-pages.ts';

/** The part of `/jsz` that is read. `max_storage`: without `max_file_store`, a share of the disk. */
type Jsz = {readonly config?: {readonly max_storage?: unknown}; readonly storage?: unknown} | null;

/** Bytes that each server can store for logs and bases. Null: no page can be read, or has a limit. */
export async function serverFreeBytes(pages: MonitorPages): Promise<number | null> {
  const known = ((await pages.readAll('/jsz')) as Jsz[]).map(freeBytesIn).filter(bytes => bytes !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** A server that is down, or whose page is, counts as none: the space of the others is known. */
function freeBytesIn(page: Jsz): number | null {
  const [most, stored] = [page?.config?.max_storage, page?.storage];
  if (typeof most !== 'number' || typeof stored !== 'number' || most <= 0) return null;
  const reserved = Math.min(NATS_RESERVE_BYTES, most * NATS_RESERVE_SHARE);
  return Math.max(0, Math.floor(most - reserved - stored));
}
