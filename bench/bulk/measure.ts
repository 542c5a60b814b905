/** All cities in one streamed import, each commit on disk before it is counted, beside what raw SQLite does with the same lines. */
import {execFile} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {promisify} from 'node:util';
import {request} from 'undici';
import {tenantPath} from '../../cli/client.ts';
import type {ImportResult} from '../../shared/protocol/imports.ts';
import {type CpuTimes, cpuTimes, cpuUsEach} from '../measure/process-tree.ts';
import {NODE_FLAGS} from '../peers/server-process.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {cities} from './cities.ts';

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
  const before = cpuTimes(svc.process.pid);
  const startedMs = performance.now();
  const {statusCode, body} = await request(`${svc.url}${tenantPath(tenant, 'import')}?table=${TABLE}`, {
    method: 'POST',
    headers: {authorization: `Bearer ${svc.token}`, 'content-type': 'application/x-ndjson'},
    body: Readable.from(chunks),
    headersTimeout: 0,
  });
  const text = await body.text();
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuUs = cpuUsEach(before, cpuTimes(svc.process.pid), count);
  const inserted = statusCode === 200 ? (JSON.parse(text) as ImportResult).inserted : 0;
  if (inserted !== count) throw new Error(`the import answered ${statusCode}: ${text}`);
  const perS = count / seconds;
  say(`import: ${Math.round(perS)} documents/s, raw SQLite ${Math.round(raw.perS)}/s`);
  return {svc: {perS, cpuUs}, raw};
}
