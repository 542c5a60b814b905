/** Finds stored work that names a table. A rename of the table must not leave such work behind. */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {Mutation} from '../../shared/protocol/schedule.ts';
import type {Value} from '../../shared/values/value.ts';
import {SLICE_MS} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import {reading} from '../storage/damage.ts';
import type {Reader} from '../storage/reader.ts';

/** For damaged work the table is unknown. */
const TABLE = "CASE WHEN json_valid(mutation) THEN json_extract(mutation, '$.table') END";

/** The first cron of such a mutation, enabled or not. @throws op.storage_damaged 503 */
export function cronOfTable(db: Connection, table: string): string | undefined {
  const first = db.prepare<[string], string>(`SELECT name FROM crons WHERE ${TABLE} = ? ORDER BY name LIMIT 1`).pluck();
  return reading(() => first.get(table));
}

/** Enabled crons that insert a document. @throws op.storage_damaged 503 */
export function cronInserts({db}: Reader): {name: string; table: string; fields: Readonly<Record<string, Value>>}[] {
  const all = db.prepare<[], {name: string; mutation: string}>(
    'SELECT name, mutation FROM crons WHERE enabled = 1 AND json_valid(mutation) ORDER BY name',
  );
  return reading(() => all.all()).flatMap(({name, mutation}) => {
    const work = JSON.parse(mutation) as Mutation;
    return work.type === 'insert' ? [{name, table: work.table, fields: work.fields as Record<string, Value>}] : [];
  });
}

/** A pending job that names the table, and the last job that was read. */
type JobsRead = {readonly job: string | undefined; readonly last: string};

/** Searches the jobs that were pending at the start. There can be a million, so it takes as many slices as it needs. */
export async function jobOfTable(reader: Reader, table: string): Promise<JobsRead> {
  const next = reader.db.prepare<[string], {id: string; named: unknown}>(
    `SELECT id, ${TABLE} AS named FROM jobs WHERE id > ? ORDER BY id LIMIT 1`,
  );
  for (let last = ''; ; await nextTurn()) {
    reader.inSnapshot();
    for (const ends = performance.now() + SLICE_MS; performance.now() < ends; ) {
      const job = reading(() => next.get(last));
      if (job === undefined) return {job: undefined, last};
      if (job.named === table) return {job: job.id, last};
      last = job.id;
    }
  }
}

/** Characters of an id that only depend on time: ids made in the same 8 ms have them in common. */
const ID_TIME_CHARS = 9;

/** A job made after that search; checked in the write that relies on it. Ids begin with their creation time. */
export function jobMadeSince(db: Connection, table: string, {last}: JobsRead): string | undefined {
  const first = db
    .prepare<[string, string], string>(`SELECT id FROM jobs WHERE id > ? AND ${TABLE} = ? ORDER BY id LIMIT 1`)
    .pluck();
  return reading(() => first.get(last.slice(0, ID_TIME_CHARS), table));
}
