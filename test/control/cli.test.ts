/** `svc services|sandboxes|sessions` against a running server, as operators type them. */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {CLI, type Outcome, svc} from '../harness/command.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {NODE_VERSION, ServiceClient} from './service-client.ts';

const service = await sharedService();
let tenant: Tenant;
let services: ServiceClient;
let directory: string;
beforeEach(async () => {
  tenant = await Tenant.make(service);
  services = new ServiceClient(tenant);
  directory = mkdtempSync(join(tmpdir(), 'svc-control-'));
});
afterEach(() => rmSync(directory, {recursive: true}));

const environment = () => ({SVC_URL: service.url, SVC_DATA: service.data, SVC_TENANT: tenant.id});
const run = (...args: string[]): Promise<Outcome> => svc(args, environment(), directory);
const write = (name: string, content: unknown) =>
  writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content));
const done = (stdout: string | RegExp) => ({
  code: 0,
  stdout: typeof stdout === 'string' ? stdout : expect.stringMatching(stdout),
});

const CODE = `export default async (ctx, signal, log) => {
  log.info('here', process.env.WHO);
  await new Promise(done => signal.addEventListener('abort', done));
};`;

describe('svc services', () => {
  const definition = {name: 'clock', source: {type: 'inline', file: 'clock.js'}, node_version: NODE_VERSION};

  test('apply makes what is not there and changes what is, with the code in a file beside the definition', async () => {
    write('clock.js', CODE);
    write('services.json', definition);
    expect(await run('services', 'apply', 'services.json')).toMatchObject(
      done(/^made clock {2}starting \(wanted\)\n$/),
    );
    await services.says('clock', "'here' undefined");
    write('services.json', [
      {...definition, env: {WHO: 'ada'}},
      {...definition, name: 'other', autostart: false},
    ]);
    const {code, stdout} = await run('services', 'apply', 'services.json');
    expect([code, stdout.split('\n')]).toEqual([
      0,
      [expect.stringContaining('changed clock'), 'made other  stopped', ''],
    ]);
    await services.says('clock', "'here' 'ada'");
  });

  test('list and show tell what is there', async () => {
    await services.inline('clock', CODE);
    await services.inline('fails', 'export default () => { throw new Error("no\\u001b[2J"); };', {restart: 'never'});
    await services.is('clock', 'running');
    await services.is('fails', 'failed');
    const {stdout} = await run('services', 'list');
    expect(stdout.split('\n')).toEqual([
      'clock  running',
      expect.stringMatching(/^fails {2}failed \(wanted\) {2}last: threw, Error: no\\x1b\[2J$/),
      '',
    ]);
    const records = (await run('services', 'list', '--json')).stdout.trimEnd().split('\n');
    expect(records.map(line => (JSON.parse(line) as {name: string}).name)).toEqual(['clock', 'fails']);
    expect(JSON.parse((await run('services', 'show', 'clock')).stdout)).toEqual(await services.get('clock'));
  });

  test('stop, start, restart and delete', async () => {
    await services.inline('clock', CODE);
    await services.is('clock', 'running');
    expect(await run('services', 'stop', 'clock')).toMatchObject(done('clock  stopped\n'));
    expect(await run('services', 'start', 'clock')).toMatchObject(done(/^clock {2}(starting \(wanted\)|running)\n$/));
    await services.is('clock', 'running');
    expect(await run('services', 'restart', 'clock')).toMatchObject(done(/^clock {2}\w+/));
    await services.inline('fails', 'export default () => { throw new Error("no\\u001b[2J"); };', {restart: 'never'});
    await services.is('fails', 'failed');
    expect(await run('services', 'stop', 'fails')).toMatchObject(
      done(/^fails {2}stopped {2}last: threw, Error: no\\x1b\[2J\n$/),
    );
    expect(await run('services', 'delete', 'clock')).toMatchObject(done('deleted clock\n'));
    expect(await run('services', 'show', 'clock')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no service "clock"'),
    });
  });

  test('logs shows the newest lines, as text or as JSON', async () => {
    await services.inline('clock', CODE);
    await services.says('clock', "'here'");
    const {stdout} = await run('services', 'logs', 'clock', '--history', '1');
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} info 'here' undefined\n$/);
    const lines = (await run('services', 'logs', 'clock', '--jsonl')).stdout.trimEnd().split('\n');
    expect(lines.map(line => (JSON.parse(line) as {level: string}).level)).toEqual(['service', 'info']);
  });

  test('logs --follow goes on with every line, across a death of the tenant, until Ctrl-C', async () => {
    await services.inline('clock', CODE);
    await services.says('clock', "'here'");
    const command = spawn(process.execPath, [CLI, 'services', 'logs', 'clock', '--history', '1', '--follow'], {
      cwd: directory,
      env: {PATH: process.env.PATH ?? '', ...environment()},
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let shown = '';
    command.stdout.on('data', text => (shown += text));
    const count = (text: string) => shown.split(text).length - 1;
    await until('the history', () => count("info 'here'") === 1);
    await services.act('clock', 'restart');
    await until('what came then', () => count("info 'here'") === 2);
    process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    await until('what came after the death', () => count("info 'here'") === 3);
    command.kill('SIGINT');
    expect(await once(command, 'close')).toEqual([0, null]);
    expect(count("info 'here'")).toBe(3);
    expect(shown).toContain('– ended: stopped');
  });

  test.each([
    ['not json', 'services.json is not JSON'],
    [{source: {}}, 'must hold a definition with a name'],
    [{name: 'a', source: {type: 'inline', file: 'none.js'}}, 'none.js cannot be read'],
    [{name: 'a', source: {type: 'module', path: 'none'}}, 'source.path must be a module of the active deployment'],
  ])('apply of %j fails with a sentence', async (content, message) => {
    write('services.json', content);
    expect(await run('services', 'apply', 'services.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    });
  });
});

describe('svc sandboxes', () => {
  test('create, exec, list, show, stop', async () => {
    write('sandbox.json', {memory_mb: 16});
    const {stdout} = await run('sandboxes', 'create', 'sandbox.json');
    const id = stdout.trimEnd();
    expect(await run('sandboxes', 'exec', id, 'console.log("hi"); return args.a + 1', '--args', '{"a": 2}')).toEqual({
      code: 0,
      stdout: '3\n',
      stderr: "[LOG] 'hi'\n",
    });
    write('code.js', 'return {from: "a file"}');
    expect(JSON.parse((await run('sandboxes', 'exec', id, '@code.js')).stdout)).toEqual({from: 'a file'});
    expect(await run('sandboxes', 'exec', id, 'throw new TypeError("bad")')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('TypeError: bad (threw; the sandbox is running)'),
    });
    expect(await run('sandboxes', 'list')).toMatchObject(done(new RegExp(`^${id} {2}running {2}16 MiB`)));
    expect(JSON.parse((await run('sandboxes', 'show', id)).stdout)).toMatchObject({id, state: 'running'});
    expect(await run('sandboxes', 'stop', id)).toMatchObject(done(`${id}  stopped  16 MiB\n`));
  });

  nightly.test('a Node sandbox: create, exec, list, stop', async () => {
    write('sandbox.json', {runtime: 'node', node_version: NODE_VERSION});
    const id = (await run('sandboxes', 'create', 'sandbox.json')).stdout.trimEnd();
    const version = await run('sandboxes', 'exec', id, 'return process.versions.node');
    expect(version).toEqual({code: 0, stdout: `${JSON.stringify(process.versions.node)}\n`, stderr: ''});
    expect(await run('sandboxes', 'list')).toMatchObject(
      done(new RegExp(`^${id} {2}running {2}Node ${NODE_VERSION} {2}64 MiB`)),
    );
    expect(await run('sandboxes', 'stop', id)).toMatchObject(done(`${id}  stopped  Node ${NODE_VERSION}  64 MiB\n`));
  });
});

describe('svc sessions', () => {
  test('open, exec, list, show, close', async () => {
    write('session.json', {ttl_ms: 60_000, metadata: {who: 'ada'}});
    const id = (await run('sessions', 'open', 'session.json')).stdout.trimEnd();
    expect(await run('sessions', 'exec', id, 'return 7')).toMatchObject(done('7\n'));
    expect(await run('sessions', 'list')).toMatchObject(done(new RegExp(`^${id} {2}open {2}sandbox \\w+ {2}until `)));
    expect(JSON.parse((await run('sessions', 'show', id)).stdout)).toMatchObject({id, metadata: {who: 'ada'}});
    expect(await run('sessions', 'close', id)).toMatchObject(done(/ {2}closed {2}sandbox \w+\n$/));
    expect(await run('sessions', 'exec', id, 'return 7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is closed'),
    });
  });
});
