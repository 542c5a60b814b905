/**
 * The function figures of the bench: a query and a mutation beside the native get and insert, transfers between accounts with
 * and without contention beside a server written by hand, the first call of a sleeping tenant, and what isolates weigh.
 */
import {mkdirSync, realpathSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {tenantPath} from '../../cli/client.ts';
import {benchDocument} from '../documents.ts';
import {requestText} from '../load/job.ts';
import {type Generator, runLoad} from '../load/run.ts';
import {openFiles, privateBytes} from '../measure/process-tree.ts';
import {NODE_FLAGS, startServer} from '../peers/server-process.ts';
import {type SvcPeer, startSvc, stopSvc, workerPids} from '../peers/svc/start.ts';
import {spareIsReady} from '../peers/svc/wake.ts';
import {ACCOUNTS, type Pair, transfers, ZIPF_EXPONENT} from './accounts.ts';
import {deployApp, runFunction} from './app.ts';

/** Requests a second, and what each takes of the processors: microseconds of all the server's processes; null: unknown. */
export type Rate = {perS: number; cpuUs: number | null};

export type FunctionRound = {
  nativeGet: Rate;
  /** Of functions that have to be run each time. */
  query: Rate;
  /** Of calls that were made before, of data that has not changed. */
  keptQuery: Rate;
  nativeInsert: Rate;
  mutation: Rate;
  transfer: Rate;
  contendedTransfer: Rate;
  plainTransfer: Rate;
  plainContendedTransfer: Rate;
  /** Milliseconds of a query: the first of a sleeping tenant, whose worker is a spare, and one of a warm one. */
  coldMs: number;
  warmMs: number;
  /** Private memory of the worker: before its first function, after queries and mutations, and a minute after a burst. */
  memory: {before: number; inUse: number; afterBurst: number} | null;
};

const TENANT = 'functions';
const IDS = 1_000;
const OPEN_AT_ONCE = 5_000;
const CONNECTIONS = 64;
const WARM_UP_S = 1;
const AFTER_BURST_MS = 60_000;

export async function measureFunctions(
  root: string,
  {generator, seconds}: {generator: Generator; seconds: number},
  say: (text: string) => void,
): Promise<FunctionRound> {
  mkdirSync(root, {recursive: true});
  const svc = await startSvc(join(root, 'svc'));
  await svc.client.createTenant(TENANT);
  await deployApp(svc, TENANT, root);
  const worker = workerPids(svc).find(pid => hasOpen(pid, join(root, 'svc', 'tenants')));
  const before = memoryOf(worker);
  const rate = async (what: string, port: number, pid: number, requests: string[]): Promise<Rate> => {
    const job = {port, connections: CONNECTIONS, requests};
    await runLoad(generator, {...job, seconds: WARM_UP_S}, pid);
    const {requestsPerS, errors, cpuUs: times} = await runLoad(generator, {...job, seconds}, pid);
    const cpuUs = times === null ? null : times.router + times.worker + times.other;
    const spent = cpuUs === null ? '' : `, ${Math.round(cpuUs)} µs of CPU each`;
    say(`${what}: ${Math.round(requestsPerS)}/s${spent}${errors > 0 ? `, ${errors} ERRORS` : ''}`);
    return {perS: requestsPerS, cpuUs};
  };
  const ofSvc = (what: string, requests: string[]) => rate(what, svc.port, svc.process.pid, requests);
  const ids = await seedItems(svc);
  const headers = {Authorization: `Bearer ${svc.token}`};
  const nativeGet = await ofSvc(
    'native get',
    ids.map(id => requestText('GET', tenantPath(TENANT, 'documents', 'items', id), headers)),
  );
  // Threads and isolates of queries start with the first one; on a machine that is busy that can take longer than a warm-up.
  await runFunction(svc, TENANT, 'bench:fresh', {id: ids[0]});
  const query = await ofSvc(
    'function query',
    ids.map(id => call('query', 'bench:fresh', {id})),
  );
  const keptQuery = await ofSvc(
    'function query, kept',
    ids.map(id => call('query', 'bench:get', {id})),
  );
  const nativeInsert = await ofSvc(
    'native insert',
    many(i =>
      requestText(
        'POST',
        `${tenantPath(TENANT)}/documents`,
        headers,
        JSON.stringify({table: 'native', fields: benchDocument(i)}),
      ),
    ),
  );
  const mutation = await ofSvc(
    'function mutation',
    many(i => call('mutation', 'bench:insert', benchDocument(i))),
  );
  const inUse = memoryOf(worker);
  const accounts = await openAccounts(svc);
  const [even, contended] = [transfers(0), transfers(ZIPF_EXPONENT)];
  const ours = (pairs: Pair[]) =>
    pairs.map(([from, to]) => call('mutation', 'bench:transfer', {from: accounts[from], to: accounts[to], amount: 1}));
  const transfer = await ofSvc('transfer', ours(even));
  const contendedTransfer = await ofSvc('transfer, contended', ours(contended));
  const plain = await startPlain(join(root, 'plain.sqlite'));
  const byHand = (pairs: Pair[]) =>
    pairs.map(([from, to]) =>
      requestText('POST', '/transfer', {}, JSON.stringify({from: `a${from}`, to: `a${to}`, amount: 1})),
    );
  const plainTransfer = await rate('plain transfer', plain.port, plain.pid, byHand(even));
  const plainContendedTransfer = await rate('plain transfer, contended', plain.port, plain.pid, byHand(contended));
  await plain.stop();
  await callMs(svc, ids[0]!);
  const warmMs = await callMs(svc, ids[0]!);
  say('waiting a minute for memory to return');
  await delay(AFTER_BURST_MS);
  const afterBurst = memoryOf(worker);
  await stopSvc(svc);
  const again = await startSvc(join(root, 'svc'));
  await spareIsReady(again);
  const coldMs = await callMs(again, ids[0]!);
  await stopSvc(again);
  const memory = before === null || inUse === null || afterBurst === null ? null : {before, inUse, afterBurst};
  return {
    nativeGet,
    query,
    keptQuery,
    nativeInsert,
    mutation,
    transfer,
    contendedTransfer,
    plainTransfer,
    plainContendedTransfer,
    coldMs,
    warmMs,
    memory,
  };
}

/** Ids of documents to read. */
async function seedItems(svc: SvcPeer): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < IDS; i++) ids.push((await runFunction(svc, TENANT, 'bench:insert', benchDocument(i))) as string);
  return ids;
}

async function openAccounts(svc: SvcPeer): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < ACCOUNTS; from += OPEN_AT_ONCE) {
    ids.push(
      ...((await runFunction(svc, TENANT, 'bench:open', {from, to: from + OPEN_AT_ONCE, balance: 1_000})) as string[]),
    );
  }
  return ids;
}

async function startPlain(path: string) {
  const server = await startServer(
    process.execPath,
    [...NODE_FLAGS, join(import.meta.dirname, 'plain-server.ts'), path],
    /listening on (\d+)/,
  );
  const port = Number(server.ready[1]);
  await fetch(`http://127.0.0.1:${port}/fill`, {method: 'POST', body: JSON.stringify({accounts: ACCOUNTS})});
  return {port, pid: server.pid, stop: server.stop};
}

function call(kind: 'query' | 'mutation', path: string, args: object): string {
  return requestText('POST', `/svc/${TENANT}/${kind}`, {}, JSON.stringify({path, args}));
}

function many(make: (index: number) => string): string[] {
  return Array.from({length: IDS}, (_, i) => make(i));
}

async function callMs(svc: SvcPeer, id: string): Promise<number> {
  await (await fetch(`${svc.url}/health`)).text(); // the connection is open
  const startedMs = performance.now();
  const reply = await fetch(`${svc.url}/svc/${TENANT}/query`, {
    method: 'POST',
    body: JSON.stringify({path: 'bench:get', args: {id}}),
  });
  const {status} = (await reply.json()) as {status: string};
  const elapsedMs = performance.now() - startedMs;
  if (status !== 'success') throw new Error('the call failed');
  return elapsedMs;
}

/** Whether the process has a file open in this directory. */
function hasOpen(pid: number, directory: string): boolean {
  const real = realpathSync(directory);
  return openFiles(pid).some(path => path.startsWith(real));
}

function memoryOf(pid: number | undefined): number | null {
  return pid === undefined ? null : (privateBytes(pid)?.dirty ?? null);
}
