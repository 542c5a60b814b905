/**
 * How much of the disk is free, and which tenants use most. A measurement reads the sizes of all tenants' files, in
 * batches, so that the supervisor answers others in between. It is kept for a while, and concurrent requests share it.
 */
import {statfs} from 'node:fs/promises';
import {setImmediate as nextTick} from 'node:timers/promises';
import {SERVER_TENANTS_SHOWN} from '../../shared/limits.ts';
import type {ServerStatus} from '../../shared/protocol/server.ts';
import {DISK_USE_BATCH, DISK_USE_MS} from '../limits.ts';

export type DiskUseParts = {
  /** The data directory. */
  directory: string;
  tenants: () => Iterable<{id: string; generation: number}>;
  bytesOf: (id: string, generation: number) => number;
  now: () => number;
};
type TenantsUse = Pick<ServerStatus['disk'], 'tenants_bytes' | 'tenants' | 'measured_at'>;

export class DiskUse {
  readonly #parts: DiskUseParts;
  #last: Promise<TenantsUse> | null = null;
  #beganMs = 0;

  constructor(parts: DiskUseParts) {
    this.#parts = parts;
  }

  async measured(): Promise<ServerStatus['disk']> {
    const nowMs = this.#parts.now();
    if (this.#last === null || nowMs - this.#beganMs >= DISK_USE_MS) {
      this.#beganMs = nowMs;
      const measurement = this.#measure();
      this.#last = measurement;
      // One that failed is not kept.
      measurement.catch(() => {
        if (this.#last === measurement) this.#last = null;
      });
    }
    const [use, disk] = await Promise.all([this.#last, statfs(this.#parts.directory).catch(() => null)]);
    return {
      bytes: disk === null ? null : disk.blocks * disk.bsize,
      free_bytes: disk === null ? null : disk.bavail * disk.bsize,
      ...use,
    };
  }

  async #measure(): Promise<TenantsUse> {
    const {tenants, bytesOf, now} = this.#parts;
    const use: TenantsUse = {tenants_bytes: 0, tenants: [], measured_at: now()};
    let batch = 0;
    // A copy, because tenants can be made and deleted in between.
    for (const {id, generation} of [...tenants()]) {
      const bytes = bytesOf(id, generation);
      use.tenants_bytes += bytes;
      insert(use.tenants, {id, bytes});
      if (++batch % DISK_USE_BATCH === 0) await nextTick();
    }
    return use;
  }
}

/** Keeps the list in order, and short. */
function insert(largest: TenantsUse['tenants'], tenant: TenantsUse['tenants'][number]): void {
  const at = largest.findIndex(({bytes}) => bytes < tenant.bytes);
  largest.splice(at === -1 ? largest.length : at, 0, tenant);
  if (largest.length > SERVER_TENANTS_SHOWN) largest.pop();
}
