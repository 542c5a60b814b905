/** How a tenant that cannot go on ends its process, and what its operator is warned of at the open. */
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {CLOCK_STEP_MS} from '../engine/limits.ts';
import type {Logger} from '../shared/log.ts';
import {DAMAGED_FILE} from '../shared/tenant-directory.ts';

/** Times of a tenant never go back: after the clock was far ahead, they stand still until it catches up. */
export function warnOfFuture(newestMs: number, log: Logger): void {
  const aheadMs = newestMs - Date.now();
  if (aheadMs <= CLOCK_STEP_MS) return;
  log.warn("the tenant's newest record is from the future: its times stand still until the clock is there", {
    newest: new Date(newestMs).toISOString(),
    aheadSeconds: Math.round(aheadMs / 1000),
  });
}

/**
 * Serving a damaged file would spread the damage, so the tenant stops until an operator has repaired it and removed the
 * note.
 */
export function stopDamaged(directory: string, log: Logger, finding: string): never {
  writeFileSync(join(directory, DAMAGED_FILE), `${finding}\n`, {flush: true});
  return fail(log, 'the file is damaged', finding);
}

/** The tenant cannot continue in this process: ends it, so that the next one starts from disk. */
export function fail(log: Logger, message: string, error: unknown): never {
  log.error(message, {error});
  process.exit(1);
}
