/**
 * `npm run walks`: how many source files and functions of the product one request passes, for the walks that
 * `docs/architecture.md` tells. Each is made four times on a quiet server: the first warms it, and what ran in all of the other
 * three counts, less what runs on an idle server too.
 *
 *   npm run walks                  the table
 *   npm run walks -- --files POST  and the files of the walks whose names begin so
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {tenantPath} from '../../cli/client.ts';
import {benchDocument} from '../documents.ts';
import {runFunction} from '../functions/app.ts';
import {FunctionTenant} from '../live/function-target.ts';
import {openEstablished, subscribed} from '../live/target.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';
import {Coverage, type FunctionPlace} from './coverage.ts';

/** Longer than the heartbeats of the service and its looks at its processes, so that these are known as idle. */
const IDLE_MS = 15_000;
/** For what follows an answer: commits' listeners, notices, histories. */
const AFTER_MS = 300;
const TIMES = 3;
const TENANT = 'walks';
const FUNCTIONS = 'walks-functions';
const IMPORTED = 50;

type Walk = {
  name: string;
  /** Goes on while the walk is made. Resolves when it is ready, with what ends it. */
  beside?(): Promise<() => void>;
  /** @param n differs with each time */
  make(n: number): Promise<unknown>;
};

const {values: options} = parseArgs({options: {files: {type: 'string'}}});
const directory = fileURLToPath(new URL('../results/walks', import.meta.url));
const coverage = new Coverage(directory);
const svc = await startSvc(join(directory, 'data'), ['--spare-workers', '0'], coverage.cli);
try {
  const walks = await prepare(svc);
  await coverage.take();
  await delay(IDLE_MS);
  const idle = await coverage.take();
  console.log('walk'.padEnd(56), 'files', 'functions');
  for (const walk of walks) {
    const places = await passed(walk, idle);
    const files = [...new Set([...places].map(place => place.slice(0, place.indexOf(':'))))].sort();
    console.log(walk.name.padEnd(56), `${files.length}`.padStart(5), `${places.size}`.padStart(9));
    if (options.files !== undefined && walk.name.startsWith(options.files)) console.log(`  ${files.join('\n  ')}`);
  }
} finally {
  await stopSvc(svc);
  rmSync(directory, {recursive: true, force: true});
}

async function passed(walk: Walk, idle: Set<FunctionPlace>): Promise<Set<FunctionPlace>> {
  const end = await walk.beside?.();
  await walk.make(0);
  await delay(AFTER_MS);
  let common = new Set<FunctionPlace>();
  for (let n = 1; n <= TIMES; n++) {
    await coverage.take();
    await walk.make(n);
    await delay(AFTER_MS);
    const ran = [...(await coverage.take())].filter(place => !idle.has(place));
    common = new Set(ran.filter(place => n === 1 || common.has(place)));
  }
  end?.();
  return common;
}

async function prepare(svc: SvcPeer): Promise<Walk[]> {
  const {client} = svc;
  await client.createTenant(TENANT);
  const path = (...rest: string[]): string => tenantPath(TENANT, ...rest);
  await client.json('PUT', path('schema', 'items'), {
    table: 'items',
    fields: [],
    indexes: [{name: 'by_category_rank', fields: ['category', 'rank']}],
  });
  const insert = (n: number) =>
    client.json<{id: string}>('POST', path('documents'), {table: 'items', fields: benchDocument(n)});
  const {id} = await insert(0);
  const category = {field: 'category', op: 'eq', value: benchDocument(0).category};
  const live = {table: 'items', filters: [], order: {field: 'rank', direction: 'asc'}, limit: 10};
  const lines = Array.from({length: IMPORTED}, (_, n) => JSON.stringify(benchDocument(n))).join('\n');

  const root = join(directory, 'app');
  mkdirSync(root);
  const functions = await FunctionTenant.create(svc, FUNCTIONS, root, 20);
  const run = (name: string, args: object) => runFunction(svc, FUNCTIONS, name, args);
  const item = String(await run('bench:insert', benchDocument(0)));
  const watched = [{path: 'live:firstTen', args: {}}];
  const watcher = async (): Promise<() => void> => {
    const socket = await functions.subscriber(watched);
    return () => socket.close();
  };
  return [
    {
      name: 'POST document, one live reader',
      beside: async () => {
        const socket = await openEstablished(svc, TENANT);
        await subscribed(socket, live);
        return () => socket.close();
      },
      make: insert,
    },
    {name: 'POST document, without readers', make: insert},
    {name: 'GET document', make: () => client.json('GET', path('documents', 'items', id))},
    {
      name: 'query by index',
      make: () => client.json('POST', path('query'), {table: 'items', filters: [category], limit: 20}),
    },
    {
      name: 'live subscription, to its first result',
      make: async () => {
        const socket = await openEstablished(svc, TENANT);
        await subscribed(socket, live);
        socket.close();
      },
    },
    {
      name: 'transaction of three',
      make: n =>
        client.json('POST', path('transactions'), {
          operations: [1, 2, 3].map(i => ({type: 'insert', table: 'items', fields: benchDocument(n * 3 + i)})),
        }),
    },
    {
      name: `import of ${IMPORTED} lines`,
      make: () =>
        client.request('POST', `${path('import')}?table=imported`, lines, {'Content-Type': 'application/x-ndjson'}),
    },
    {name: 'export of a table', make: () => client.request('GET', `${path('export')}?table=items`)},
    {name: 'function mutation over HTTP', make: n => run('bench:insert', benchDocument(n))},
    {name: 'function query, run', make: () => run('bench:fresh', {id: item})},
    {name: 'function query, from the cache', make: () => run('bench:get', {id: item})},
    {
      name: 'function socket: hello, query, first transition',
      make: async () => (await functions.subscriber(watched)).close(),
    },
    {
      name: 'mutation under a function socket, with its transition',
      beside: watcher,
      make: n => functions.change(n % 10, n),
    },
  ];
}
