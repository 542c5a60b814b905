/** Libraries that were made for Convex, in a project that `svc init --compat` prepared: built, deployed and called. */
import {execFile} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {promisify} from 'node:util';
import {build} from 'esbuild';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {ENTS, HELPERS, PAGE} from './app-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** They look for `convex` from where they are. */
const COPIED = ['convex-helpers', 'convex-ents', '@convex-dev/react-query'];
const LINKED = ['zod', 'react', '@tanstack'];

const service = await sharedService();
let folder: string;
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-compat-')));
  for (const name of COPIED)
    cpSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), {recursive: true});
  for (const name of LINKED) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  symlinkSync(root, join(folder, 'node_modules/svc'));
  write('package.json', '{"name": "apps", "type": "module", "dependencies": {"svc": "file:node_modules/svc"}}');
  await svc('init', '--compat');
  const {dependencies} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {dependencies: object};
  expect(dependencies).toEqual({svc: 'file:node_modules/svc', convex: 'file:./convex-compat'});
  // As npm does it.
  symlinkSync(join(folder, 'convex-compat'), join(folder, 'node_modules/convex'));
});
afterAll(async () => {
  rmSync(folder, {recursive: true});
});
beforeEach(() => service.showLogOnFailure());

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), {recursive: true});
  writeFileSync(join(folder, path), text);
}

async function svc(...args: string[]): Promise<void> {
  const env = {...process.env, SVC_URL: service.url, SVC_DATA: service.data};
  await promisify(execFile)(process.execPath, [join(root, 'dist/cli.js'), ...args], {cwd: folder, env});
}

async function deploy(tenant: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) write(join(tenant, path), text);
  write(join(tenant, 'svc.json'), JSON.stringify({tenant}));
  await svc('deploy', '--create', '--typecheck', 'disable', '--project', tenant);
}

/** @returns the value, or the message of what it failed with */
async function run(tenant: string, path: string, args: object = {}): Promise<unknown> {
  const {body} = await service.post(`/api/tenants/${tenant}/functions/run`, {path, args});
  const {status, value, errorMessage} = body as {status: string; value?: unknown; errorMessage?: string};
  return status === 'success' ? value : {failed: errorMessage};
}

describe('convex-helpers', () => {
  const helpers = (name: string, args?: object) => run('helpers', `helpers:${name}`, args);
  let id: unknown;
  beforeAll(async () => {
    await deploy('helpers', HELPERS);
    id = await helpers('add', {owner: 'ada', text: 'one'});
    await helpers('add', {owner: 'bob', text: 'two'});
    await helpers('add', {owner: 'ada', text: 'three'});
  });

  test('triggers see inserts, patches and deletes', async () => {
    expect(await helpers('count', {owner: 'ada'})).toBe(2);
    const extra = await helpers('add', {owner: 'eve', text: 'x'});
    expect(await helpers('change', {id: extra, text: 'y'})).toBeNull();
    expect(await helpers('count', {owner: 'eve'})).toBe(1);
    expect(await helpers('remove', {id: extra})).toBeNull();
    expect(await helpers('count', {owner: 'eve'})).toBe(0);
  });

  test('row-level security filters reads and refuses writes', async () => {
    expect(await helpers('mine', {who: 'ada'})).toEqual(['one', 'three']);
    expect(await helpers('rewrite', {who: 'ada', id, text: 'one'})).toBeNull();
    expect(await helpers('rewrite', {who: 'bob', id, text: 'stolen'})).toHaveProperty('failed');
    expect(await helpers('mine', {who: 'ada'})).toEqual(['one', 'three']);
  });

  test('streams, relationships, sessions, zod and crud work', async () => {
    expect(await helpers('merged', {owners: ['ada', 'bob']})).toEqual(['one', 'two', 'three']);
    expect(await helpers('ofOwner', {owner: 'ada'})).toEqual(['one', 'three']);
    expect(await helpers('join', {sessionId: 's1'})).toEqual(expect.any(String));
    expect(await helpers('shout', {text: 'hey', times: 2})).toBe('HEYHEY');
    expect(await helpers('shout', {text: 'h'})).toHaveProperty('failed');
    const made = (await helpers('create', {name: 'Grace'})) as {_id: string};
    await helpers('update', {id: made._id, patch: {name: 'Hopper'}});
    expect(await helpers('read', {id: made._id})).toMatchObject({name: 'Hopper'});
    await helpers('destroy', {id: made._id});
    expect(await helpers('read', {id: made._id})).toBeNull();
  });

  test('an id of another table and what is not there fail by name', async () => {
    expect(await helpers('normalized', {id})).toEqual([true, false]);
    expect(await helpers('normalized', {id: 'none'})).toEqual([false, false]);
    expect(await helpers('crossed', {id})).toEqual({
      failed: expect.stringContaining("is of table 'notes', not 'people'"),
    });
    expect(await helpers('system')).toEqual({failed: expect.stringContaining('db.system is not supported')});
  });

  test('without the package, the forms of Convex stay refused by name', async () => {
    const plain = `import {query} from './_generated/server';
export const get = query({args: {}, handler: ctx => ctx.db.get('notes', 'x')});
export const normal = query({args: {}, handler: ctx => ctx.db.normalizeId('notes', 'x')});
export const system = query({args: {}, handler: ctx => typeof ctx.db.system});
`;
    await deploy('plain', {'svc/plain.ts': plain});
    expect(await run('plain', 'plain:get')).toEqual({
      failed: expect.stringContaining('two arguments is not supported'),
    });
    expect(await run('plain', 'plain:normal')).toEqual({
      failed: expect.stringContaining('normalizeId is not supported'),
    });
    expect(await run('plain', 'plain:system')).toBe('object');
  });
});

test('convex-ents: tables of its own, edges and unique fields', async () => {
  await deploy('ents', ENTS);
  const id = await run('ents', 'ents:write', {name: 'ada', title: 'first'});
  expect(id).toEqual(expect.any(String));
  expect(await run('ents', 'ents:posts', {id})).toEqual(['first']);
  expect(await run('ents', 'ents:again', {name: 'ada'})).toHaveProperty('failed');
});

type Libraries = {
  ConvexQueryClient: new (
    url: string,
    options?: object,
  ) => {hashFn(): unknown; queryFn(): unknown; connect(client: object): void; convexClient: {close(): Promise<void>}};
  convexQuery(ref: unknown, args: object): object;
  QueryClient: new (options: object) => {fetchQuery(options: object): Promise<unknown>; clear(): void};
};

test.each([
  ['in a browser, live', {window: 'globalThis'}, {}],
  ['while a server renders', undefined, {dangerouslyUseInconsistentQueriesDuringSSR: true}],
])(
  '@convex-dev/react-query, the query cache and session hooks build, and a query is answered: %s',
  async (_, define, options) => {
    write('page.ts', PAGE);
    const outfile = join(folder, `page-${define === undefined ? 'server' : 'browser'}.js`);
    await build({
      absWorkingDir: folder,
      entryPoints: ['page.ts'],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      logLevel: 'silent',
      ...(define === undefined ? {} : {define}),
    });
    const {ConvexQueryClient, convexQuery, QueryClient} = (await import(pathToFileURL(outfile).href)) as Libraries;
    const {makeFunctionReference} = await import('../../sdk/server/index.ts');
    const convex = new ConvexQueryClient(`${service.url}/svc/helpers`, options);
    const defaults = {queries: {queryKeyHashFn: convex.hashFn(), queryFn: convex.queryFn()}};
    const queries = new QueryClient({defaultOptions: defaults});
    convex.connect(queries);
    const owner = makeFunctionReference<'query'>('helpers:ofOwner');
    expect(await queries.fetchQuery(convexQuery(owner, {owner: 'bob'}))).toEqual(['two']);
    queries.clear();
    await convex.convexClient.close();
  },
);
