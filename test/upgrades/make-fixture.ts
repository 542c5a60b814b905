/**
 * Makes the fixture of a storage version: a data directory that a server of that version wrote, with everything that a
 * tenant can have. After a new storage version:
 *
 *   npm run build && node --experimental-strip-types test/upgrades/make-fixture.ts
 *
 * For an earlier version, give the `dist` of a build of it: `… make-fixture.ts ../svc-older/dist`.
 */
import {execFileSync, spawn} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {brotliCompressSync, constants} from 'node:zlib';

/** Storage versions from which on servers have these. */
const FUNCTIONS_SINCE = 2;
const SERVICES_SINCE = 13;
/** What no later server reads: credentials, sockets, notes of processes that run, and indexes of logs. */
const NOT_KEPT = /^(admin\.json|reserve|worker-users\.json|run|owner\..*|svc\..*|.*-shm|.*\.log|cache|node)$/;
/** Tenants of all fixtures can be in one data directory, so each has a generation of its own. */
const GENERATIONS_EACH = 4;

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url));
const dist = process.argv[2] ?? fileURLToPath(new URL('../../dist', import.meta.url));
const cli = join(dist, 'cli.js');
const work = mkdtempSync(join(tmpdir(), 'svc-fixture-'));
const data = join(work, 'data');

type Server = {pid: number; url: string; token: string; ended: Promise<void>};

let running: Server | null = null;

async function start(): Promise<Server> {
  const child = spawn(process.execPath, [cli, 'start', '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {PATH: process.env.PATH, HOME: work, XDG_STATE_HOME: work},
    detached: true,
  });
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', line => {
      if (line.startsWith('svc listening on ')) resolve(line.slice(17).trim());
    });
    child.once('exit', code => reject(new Error(`svc start ended with ${code}`)));
  });
  const {access_token: token} = JSON.parse(readFileSync(join(data, 'admin.json'), 'utf8')) as {access_token: string};
  running = {pid: child.pid!, url, token, ended};
  return running;
}

async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (running === null) return;
  // A killed server leaves its processes behind, and they are in its group.
  process.kill(signal === 'SIGTERM' ? running.pid : -running.pid, signal);
  await running.ended;
  running = null;
}

async function send({url, token}: Server, method: string, path: string, body: unknown, key?: string): Promise<unknown> {
  const headers: Record<string, string> = {'content-type': 'application/json'};
  // Functions are called by users, whose credentials are of another kind.
  if (!path.startsWith('/svc/')) headers.authorization = `Bearer ${token}`;
  if (key !== undefined) headers['idempotency-key'] = key;
  const reply = await fetch(url + path, {method, headers, ...(body === null ? {} : {body: JSON.stringify(body)})});
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

function command({url}: Server, tenant: string, ...args: string[]): void {
  execFileSync(process.execPath, [cli, ...args, '--url', url, '--data', data, '--tenant', tenant], {
    cwd: join(work, 'project'),
    env: {PATH: process.env.PATH, HOME: work, XDG_STATE_HOME: work},
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function writeProject(): void {
  const files = {
    'svc.json': '{}',
    'package.json': '{"name": "app", "private": true, "type": "module"}',
    'svc/schema.ts': `import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';
export default defineSchema({messages: defineTable({text: v.string(), at: v.number()}).index('by_at', ['at'])});
`,
    'svc/messages.ts': `import {v} from 'svc/values';
import {mutation, query} from './_generated/server';
export const add = mutation({
  args: {text: v.string(), at: v.number()},
  handler: async (ctx, args) => {
    await ctx.db.insert('messages', args);
    return null;
  },
});
export const recent = query({
  args: {},
  handler: async ctx => {
    const found = await ctx.db.query('messages').withIndex('by_at').order('desc').take(3);
    return {greeting: process.env.GREETING, texts: found.map(({text}) => text)};
  },
});
`,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, 'project', name)), {recursive: true});
    writeFileSync(join(work, 'project', name), text);
  }
}

async function fill(server: Server, version: number, tenant: string): Promise<void> {
  const app = (method: string, path: string, body: unknown, key?: string) =>
    send(server, method, `/api/tenants/${tenant}/${path}`, body, key);
  for (let n = 0; n < 12; n++) {
    await app('POST', 'documents', {table: 'notes', fields: {title: `note ${n}`, stars: n % 4, tags: ['a', {n}]}});
  }
  await app('PUT', 'schema/notes', {
    table: 'notes',
    fields: [{name: 'title', field_type: 'string', required: true}],
    indexes: [{name: 'by_stars', fields: ['stars']}],
  });
  const made = await app('POST', 'documents', {table: 'notes', fields: {title: 'once', stars: 9}}, 'once');
  const gone = await app('POST', 'documents', {table: 'notes', fields: {title: 'gone'}});
  await app('PATCH', `documents/notes/${idOf(made)}`, {patch: {stars: 10}});
  await app('DELETE', `documents/notes/${idOf(gone)}`, null);
  const insert = (title: string) => ({type: 'insert', table: 'notes', fields: {title}});
  await app('POST', 'schedule', {run_after_ms: 60_000, mutation: insert('from a job')});
  await app('POST', 'crons', {
    name: 'hourly',
    schedule: {type: 'interval', seconds: 3600},
    mutation: insert('from a cron'),
  });
  if (version >= FUNCTIONS_SINCE) {
    writeProject();
    command(server, tenant, 'env', 'set', 'GREETING', 'hello');
    command(server, tenant, 'deploy', '--typecheck', 'disable');
    for (let at = 0; at < 5; at++) {
      await send(server, 'POST', `/svc/${tenant}/mutation`, {path: 'messages:add', args: {text: `message ${at}`, at}});
    }
  }
  if (version >= SERVICES_SINCE) {
    const code = 'export default async () => {};';
    await app('POST', 'services', {name: 'idle', source: {type: 'inline', code}, node_version: '22', autostart: false});
  }
}

function idOf(made: unknown): string {
  const {id, document} = made as {id?: string; document?: {id: string}};
  return id ?? document!.id;
}

/** Of a tenant's file, in the header. */
function versionOf(directory: string): number {
  return readFileSync(join(directory, 'tenant.sqlite')).readUInt32BE(60);
}

/** An orderly close moves the log into the file, where the header has the version. */
async function learnVersion(): Promise<number> {
  const server = await start();
  await send(server, 'POST', '/api/tenants', {id: 'probe'});
  await send(server, 'POST', '/api/tenants/probe/documents', {table: 't', fields: {}});
  await end('SIGTERM');
  const [name] = readdirSync(join(data, 'tenants'));
  const version = versionOf(join(data, 'tenants', name!));
  rmSync(data, {recursive: true});
  return version;
}

try {
  const version = await learnVersion();
  const number = String(version).padStart(2, '0');
  const filled = await start();
  for (let n = 0; n < version * GENERATIONS_EACH; n++) {
    await send(filled, 'POST', '/api/tenants', {id: 'before'});
    await send(filled, 'DELETE', '/api/tenants/before', null);
  }
  for (const id of [`app-${number}`, `killed-${number}`, `unused-${number}`]) {
    await send(filled, 'POST', '/api/tenants', {id});
  }
  await fill(filled, version, `app-${number}`);
  await end('SIGTERM');
  // The other tenant's commits are in its log.
  const killed = await start();
  for (let n = 0; n < 5; n++) {
    await send(killed, 'POST', `/api/tenants/killed-${number}/documents`, {
      table: 'notes',
      fields: {title: `logged ${n}`},
    });
  }
  await end('SIGKILL');
  const kept = join(work, 'kept');
  cpSync(data, kept, {recursive: true, filter: path => !NOT_KEPT.test(path.slice(path.lastIndexOf('/') + 1))});
  const owner = ['--sort=name', '--mtime=@1', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go='];
  const tar = execFileSync('tar', ['-c', ...owner, '-C', kept, '.'], {maxBuffer: 64 * 1024 * 1024});
  const packed = brotliCompressSync(tar, {params: {[constants.BROTLI_PARAM_SIZE_HINT]: tar.length}});
  mkdirSync(fixtures, {recursive: true});
  const path = join(fixtures, `${number}.tar.br`);
  writeFileSync(path, packed);
  process.stdout.write(`${path}: ${packed.length} bytes\n`);
} finally {
  await end('SIGKILL');
  rmSync(work, {recursive: true, force: true});
}
