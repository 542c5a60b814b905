/** Has every worker put its durable commits into its spool. */
import {BACKUP_FLUSH_MS} from '../limits.ts';
import type {Lifecycle} from './lifecycle-states.ts';
import type {TenantEntry} from './tenant-entry.ts';

const OPENING: ReadonlySet<Lifecycle['state']> = new Set(['queued', 'waking']);

/**
 * Resolves when all have, or have not answered in time. A tenant that is being opened, as after a kill, can have commits
 * in its log, so its worker is awaited.
 */
export async function flushCopies(entries: Iterable<TenantEntry>): Promise<void> {
  await Promise.all(
    [...entries].map(async entry => {
      if (OPENING.has(entry.lifecycle.state)) await opened(entry);
      if (entry.lifecycle.state !== 'errand') await entry.worker?.flushCopies();
    }),
  );
}

function opened(entry: TenantEntry): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      clearTimeout(timer);
      entry.watches = entry.watches.filter(other => other !== watch);
      resolve();
    };
    const watch = (): void => {
      if (!OPENING.has(entry.lifecycle.state)) end();
    };
    const timer = setTimeout(end, BACKUP_FLUSH_MS);
    entry.watches = [...entry.watches, watch];
  });
}
