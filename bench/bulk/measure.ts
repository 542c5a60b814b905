/** All cities in one streamed import, each commit on disk before it is counted, beside what raw SQLite does with the same lines. */
import {execFile} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {tenantPath} from '../../cli/client.ts';
import {type CpuTimes, cpuLook, cpuUsEach} from '../measure/process-tree.ts';
import {NODE_FLAGS} from '../peers/server-process.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {cities} from './cities.ts';
import {importChunks} from './import.ts';

/** Documents a second, and microseconds of processor time for each. */
export type BulkFigures = {perS: number; cpuUs: number};
export type BulkRound = {svc: {perS: number; cpuUs: CpuTimes | null}; raw: BulkFigures};

const TABLE = 'cities';

export async function measureBulk(
  svc: SvcPeer,
  directory: string,
  tenant: string,
  say: (text: string) => void,
): Promise<BulkRound> {
  mkdirSync(directory, {recursive: true});
  const args = [...NODE_FLAGS, join(import.meta.dirname, 'raw.ts'), directory];
  const raw = JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as BulkFigures;
  const {count, chunks} = cities();
  await svc.client.createTenant(tenant);
  // It is awake, and the table is there.
  await svc.client.json('POST', tenantPath(tenant, 'documents'), {table: TABLE, fields: {}});
  const before = cpuLook(svc.process.pid);
  const startedMs = performance.now();
  const inserted = await importChunks(svc, tenant, TABLE, chunks);
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuUs = cpuUsEach(before, cpuLook(svc.process.pid), count);
  if (inserted !== count) throw new Error(`the import inserted ${inserted} of ${count}`);
  const perS = count / seconds;
  say(`import: ${Math.round(perS)} documents/s, raw SQLite ${Math.round(raw.perS)}/s`);
  return {svc: {perS, cpuUs}, raw};
}
