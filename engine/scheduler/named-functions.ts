/** Counts pending jobs by the function that they call, so that a change of the code can say which of them would fail. */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {JOBS_PREVIEWED_MAX, SLICE_MS} from '../limits.ts';
import {reading} from '../storage/damage.ts';
import type {Reader} from '../storage/reader.ts';

/** Jobs of the native API name no function, and the function of damaged work is unknown. */
const PATH = "CASE WHEN json_valid(mutation) THEN json_extract(mutation, '$.path') END";

/** In slices, between which the tenant serves; of the first JOBS_PREVIEWED_MAX jobs. @throws op.storage_damaged 503 */
export async function jobsByFunction(reader: Reader): Promise<Map<string, number>> {
  const next = reader.db.prepare<[string], {id: string; path: unknown}>(
    `SELECT id, ${PATH} AS path FROM jobs WHERE id > ? ORDER BY id LIMIT 1`,
  );
  const found = new Map<string, number>();
  for (let last = '', read = 0; ; await nextTurn()) {
    reader.inSnapshot();
    for (const ends = performance.now() + SLICE_MS; performance.now() < ends; read++) {
      const job = read < JOBS_PREVIEWED_MAX ? reading(() => next.get(last)) : undefined;
      if (job === undefined) return found;
      if (typeof job.path === 'string') found.set(job.path, (found.get(job.path) ?? 0) + 1);
      last = job.id;
    }
  }
}
