/**
 * `svc cluster diverged` lists what was set aside on this host: files whose commits did not get into the log of the cluster,
 * and files that the log could not continue. It reads directories, and needs neither a server nor NATS.
 */
import {basename, join} from 'node:path';
import type {Command} from 'commander';
import {readPlace} from '../../engine/replication/place-file.ts';
import {asideDirectories} from '../../engine/replication/set-aside.ts';
import {openReader} from '../../engine/storage/database.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {bytesText} from '../bytes-text.ts';
import {requireSurvey} from '../data-directory/lock.ts';
import {peekAt} from '../data-directory/peek.ts';
import {reportFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';

type Options = {data: string; writes?: true; json?: true};

type Aside = {
  tenant: string;
  directory: string;
  /** `diverged` from its log, or `replaced` because its log no longer had the records to compare it with. */
  why: string;
  documents: number | null;
  bytes: number;
  last_write_ms: number | null;
  /** Newest record of the journal that the log is known to have had; null: it is not known. */
  in_log: number | null;
  /** Records of the journal behind that. */
  records: number | null;
  finding: string | null;
};

export function registerDiverged(cluster: Command): void {
  cluster
    .command('diverged')
    .description('list files of tenants that were set aside on this host; run it there')
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--writes', 'also print the journal records that the log may lack, one JSON object per line')
    .option('--json', 'one JSON object per line')
    .action((options: Options) => reportFailure('svc cluster diverged', async () => list(options)));
}

function list({data, writes, json}: Options): void {
  const {tenantsPath, found} = requireSurvey(data);
  let count = 0;
  for (const {kind, id, generation, name} of found) {
    if (kind !== 'tenant' || id === null || generation === null) continue;
    for (const directory of asideDirectories(join(tenantsPath, name))) {
      count++;
      const aside = asideAt(directory, {id, generation});
      process.stdout.write(`${json === true ? printableJson(JSON.stringify(aside)) : printable(textOf(aside))}\n`);
      if (writes === true && aside.in_log !== null) printRecords(directory, aside.in_log);
    }
  }
  if (json !== true) process.stdout.write(`${count} set aside\n`);
}

function asideAt(directory: string, owner: {id: string; generation: number}): Aside {
  const {documents, bytes, lastWriteMs, finding} = peekAt(directory, owner);
  const why = basename(directory).split('-')[0]!;
  const known = {tenant: owner.id, directory, why, documents, bytes, last_write_ms: lastWriteMs};
  const nothing = {...known, in_log: null, records: null};
  if (finding !== null) return {...nothing, finding};
  try {
    const place = readPlace(join(directory, TENANT_FILE));
    if (place === null) return {...nothing, finding: null};
    const {sequence} = place.at;
    return {...known, in_log: sequence, records: countAfter(directory, sequence), finding: null};
  } catch (caught) {
    return {...nothing, finding: (caught as Error).message};
  }
}

function countAfter(directory: string, sequence: number): number {
  const db = openReader(join(directory, TENANT_FILE));
  try {
    return db.prepare<[number], number>('SELECT count(*) FROM journal WHERE sequence > ?').pluck().get(sequence)!;
  } finally {
    db.close();
  }
}

function printRecords(directory: string, sequence: number): void {
  const db = openReader(join(directory, TENANT_FILE));
  try {
    const records = db.prepare<[number], string>('SELECT record FROM journal WHERE sequence > ? ORDER BY sequence');
    for (const record of records.pluck().iterate(sequence)) process.stdout.write(`${printableJson(record)}\n`);
  } finally {
    db.close();
  }
}

function textOf({tenant, directory, why, documents, bytes, last_write_ms, in_log, records, finding}: Aside): string {
  const when = last_write_ms === null ? '' : `, last written ${new Date(last_write_ms).toISOString()}`;
  const size = documents === null ? bytesText(bytes) : `${documents} documents, ${bytesText(bytes)}`;
  const behind = records === null ? '' : `\n  ${records} records after ${in_log}: the log may lack them`;
  return `${tenant}  ${why}  ${directory}\n  ${size}${when}${behind}${finding === null ? '' : `\n  ${finding}`}`;
}
