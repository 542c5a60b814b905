import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {firstOf, nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';

const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

let service: Service;
let directory: string;
let project: string;
/** What `svc init` wrote. */
let fresh: string;
beforeAll(async () => {
  service = await Service.start();
  fresh = join(mkdtempSync(join(tmpdir(), 'svc-verbs-')), 'todo-0');
  directory = dirname(fresh);
  expect((await svc('init', fresh)).code).toBe(0);
});
afterAll(async () => {
  await service.stop();
  rmSync(dirname(fresh), {recursive: true});
});
let projects = 0;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-verbs-'));
  project = join(directory, `todo-${++projects}`);
  cpSync(fresh, project, {recursive: true});
  edit('svc.json', 'todo-0', `todo-${projects}`);
});
afterEach(() => rmSync(directory, {recursive: true}));

function start(args: string[], cwd: string): ChildProcess {
  const env = {PATH: process.env.PATH ?? '', SVC_URL: service.url, SVC_DATA: service.data};
  return spawn(process.execPath, [cli, ...args], {env, cwd, stdio: 'pipe'});
}

async function svc(...args: string[]): Promise<{code: number; stdout: string; stderr: string}> {
  const child = start(args, existsSync(project ?? '') ? project : directory);
  const texts = {stdout: '', stderr: ''};
  for (const name of ['stdout', 'stderr'] as const) child[name]!.on('data', text => (texts[name] += text));
  const [code] = (await once(child, 'close')) as [number];
  return {code, ...texts};
}

const edit = (file: string, from: string, to: string) =>
  writeFileSync(join(project, file), readFileSync(join(project, file), 'utf8').replace(from, to));

describe('svc init', () => {
  test('writes a project that deploys as it is, and overwrites nothing', async () => {
    expect(await svc('deploy', '--create', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"active":true'),
    });
    const again = await svc('init', project);
    expect(again).toMatchObject({code: 1, stderr: expect.stringContaining('exists already')});
  });
});

describe('svc deploy', () => {
  test('says of a module of Node what the bundler says, before types are looked at', async () => {
    writeFileSync(
      join(project, 'svc/files.ts'),
      "import fs from 'node:fs';\nexport const names = fs.readdirSync('/');\n",
    );
    mkdirSync(join(project, 'node_modules'));
    for (const name of ['typescript', '@typescript']) {
      symlinkSync(join(cli, '../../node_modules', name), join(project, 'node_modules', name));
    }
    const {code, stderr} = await svc('deploy', '--create', '--typecheck=enable');
    expect([code, stderr.includes('"use node"'), stderr.includes('types do not fit')]).toEqual([1, true, false]);
  });

  test('says which tables and indexes it adds and drops, and svc dev marks its deployments', async () => {
    const first = await svc('deploy', '--create');
    expect(first).toMatchObject({code: 0, stderr: expect.stringMatching(/^\+ table \w+$/m)});
    const schema = join(project, 'svc/schema.ts');
    writeFileSync(
      schema,
      `import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';
const {tables} = {tables: {extra: defineTable({n: v.optional(v.number())}).index('by_n', ['n'])}};
export default defineSchema(tables);
`,
    );
    const dry = await svc('deploy', '--dry-run', '--typecheck=disable');
    expect(dry.stderr).toMatch(/^\+ table extra\n- table \w+ \(its documents stay, and are not checked any more\)$/m);
    expect(dry.stderr).toMatch(/^\+ index extra\.by_n \(n\)$/m);
    expect((await svc('dev', '--once', '--typecheck=disable')).stderr).toContain('+ index extra.by_n (n)');
    const listed = await svc('rollback', '--list');
    expect(listed.stdout).toMatch(/^\* 2 .*\(svc dev\)\n {2}1 .* functions {2}\n$/);
    expect(await svc('data', 'nope')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('there is no table nope; there are extra'),
    });
    expect(await svc('data', 'extra')).toMatchObject({code: 0, stdout: ''});
  });

  test('makes no tenant without --create', async () => {
    expect(await svc('deploy')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('svc deploy --create makes it'),
    });
  });

  nightly.test('--dry-run checks everything and changes nothing', async () => {
    await svc('deploy', '--create');
    edit('svc/tasks.ts', 'done: false', 'done: true');
    expect(await svc('deploy', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('a dry run: 3 functions'),
    });
    expect((await svc('rollback', '--list')).stdout.trim().split('\n')).toHaveLength(1);
    writeFileSync(join(project, 'svc/bad.ts'), 'throw new Error("at load");\nexport const x = 1;');
    expect(await svc('deploy', '--dry-run')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('svc/bad.ts:1: Uncaught Error: at load'),
    });
  });

  test('tells every error of the bundle with file and line', async () => {
    writeFileSync(join(project, 'svc/one.ts'), 'export const x = ;');
    writeFileSync(join(project, 'svc/two.ts'), "import {gone} from './gone';\nexport const y = gone;");
    const {code, stderr} = await svc('deploy', '--create');
    expect(code).toBe(1);
    expect(stderr).toMatch(/svc\/one\.ts:1:\d+: /);
    expect(stderr).toMatch(/svc\/two\.ts:1:\d+: /);
  });
});

describe('svc run', () => {
  test('prints the value on stdout and log lines on stderr', async () => {
    edit(
      'svc/tasks.ts',
      'handler: async (ctx, {text}) =>',
      "handler: async (ctx, {text}) => (console.log('adding'), 1) &&",
    );
    await svc('deploy', '--create');
    const {code, stdout, stderr} = await svc('run', 'tasks:add', '{"text": "try it"}');
    expect({code, stderr}).toEqual({code: 0, stderr: "[LOG] 'adding'\n"});
    expect(JSON.parse(stdout)).toMatch(/^[0-9a-z]{32}$/);
    expect(JSON.parse((await svc('run', 'tasks:open')).stdout)).toMatchObject([{text: 'try it', done: false}]);
  });

  const wrong: [args: string[], code: number, message: string][] = [
    [['run', 'tasks:nothing'], 1, 'Could not find function'],
    [['run', 'tasks:add', '{'], 2, 'not JSON'],
    [['run', 'tasks:add', '[1]'], 2, 'must be a JSON object'],
    [['run', 'tasks:add', '{}'], 1, 'ArgumentValidationError'],
  ];
  /** Under --watch. */
  const refused = [
    ['tasks.ts:add', 'tasks:add is of the kind mutation'],
    ['tasks:add', 'tasks:add is of the kind mutation'],
    ['tasks', 'Could not find function'],
  ] as const;
  test('fails with a code and a sentence', async () => {
    await svc('deploy', '--create');
    for (const [args, code, message] of firstOf(2, wrong)) {
      expect(await svc(...args)).toMatchObject({code, stderr: expect.stringContaining(message)});
    }
    for (const [path, message] of firstOf(1, refused)) {
      expect(await svc('run', path, '{"text": "x"}', '--watch')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(message),
      });
    }
    expect((await svc('run', 'tasks:open')).stdout).toBe('[]\n');
  });
});

describe('svc run --watch', () => {
  test('prints the result of a query, and again when it changed', async () => {
    await svc('deploy', '--create');
    const child = start(['run', 'tasks:open', '--watch'], project);
    let seen = '';
    child.stdout!.on('data', text => (seen += text));
    await until('the first result', () => seen === '[]\n');
    await svc('env', 'set', 'OTHER', 'thing'); // Is in the journal, and changes no result.
    await svc('run', 'tasks:add', '{"text": "watched"}');
    await until('the second result', () => seen.endsWith('}\n]\n'));
    expect(seen).toMatch(/^\[\]\n\[\n {2}\{/);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  });
});

describe('svc env, data and rollback', () => {
  test('do what they say', async () => {
    await svc('deploy', '--create');
    writeFileSync(join(project, '.env'), 'COLOR=blue\nSIZE="very large"\n');
    expect((await svc('env', 'set', '--from-file', '.env')).code).toBe(0);
    expect((await svc('env', 'list')).stdout).toBe('COLOR=blue\nSIZE=very large\n');
    writeFileSync(join(project, '.env'), 'COLOR=red\n');
    expect(await svc('env', 'set', '--from-file', '.env')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--force'),
    });
    expect((await svc('env', 'set', '--from-file', '.env', '--force')).code).toBe(0);
    expect((await svc('env', 'get', 'COLOR')).stdout).toBe('red\n');
    expect((await svc('env', 'remove', 'COLOR')).code).toBe(0);
    expect((await svc('env', 'get', 'COLOR')).code).toBe(1);

    for (const text of ['one', 'two']) await svc('run', 'tasks:add', JSON.stringify({text}));
    expect((await svc('data')).stdout).toContain('tasks: 2 documents');
    const newest = JSON.parse((await svc('data', 'tasks', '--limit', '1', '--format', 'jsonl')).stdout) as {
      text: string;
    };
    expect(newest.text).toBe('two');

    edit('svc/tasks.ts', 'done: false', 'done: true');
    await svc('deploy');
    const {stdout: diff} = await svc('deployments', 'diff', '1', '2');
    expect(diff).toMatch(
      /^changed function tasks:add\n(?:changed function .*\n)*--- svc\/tasks\.ts\n\+\+\+ svc\/tasks\.ts\n@@ /,
    );
    expect(diff).toMatch(/^-.*done: false.*\n\+.*done: true/m);
    expect((await svc('deployments', 'show', '2')).stdout).toMatch(/^source {2}svc\/tasks\.ts {2}\d+ bytes$/m);
    const source = readFileSync(join(project, 'svc/tasks.ts'), 'utf8');
    expect((await svc('deployments', 'file', '2', 'svc/tasks.ts')).stdout).toBe(source);
    expect((await svc('rollback', '--dry-run')).stdout).toContain('a dry run: deployment 1 can be activated');
    expect((await svc('rollback')).stdout).toContain('deployment 1 of');
    expect((await svc('rollback')).stdout).toContain('deployment 2 of');
  });
});

nightly.test('svc env set takes a value that begins with dashes behind --, and a file or a name alone', async () => {
  await svc('deploy', '--create');
  writeFileSync(join(project, '.env'), 'COLOR=blue\n');
  expect((await svc('env', 'set', 'SIZE', 'small', '--from-file', '.env', '--force')).code).toBe(2);
  const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----';
  expect((await svc('env', 'set', 'KEY', key)).stderr).toContain('svc env set NAME -- VALUE');
  expect((await svc('env', 'set', 'KEY', '--', key)).code).toBe(0);
  expect((await svc('env', 'get', 'KEY')).stdout).toBe(`${key}\n`);
});

describe('svc dev', () => {
  test('makes the tenant, deploys, deploys again after a change, and survives one that is wrong', async () => {
    const child = start(['dev'], project);
    let seen = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', text => (seen += text));
    await until('the first deployment', () => seen.includes('deployment 1 is live'));
    edit('svc/tasks.ts', 'done: false', 'done: ');
    await until('the failure', () => /svc\/tasks\.ts:\d+:\d+: /.test(seen));
    expect((await svc('run', 'tasks:open')).code).toBe(0);
    edit('svc/tasks.ts', 'done: ', 'done: false');
    await until('the second deployment', () => seen.includes('deployment 2 is live'));
    await svc('run', 'tasks:add', '{"text": "x"}');
    await until('its log', () => seen.includes('M(tasks:add) ok'));
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  const restarted = async (key: string, value: string) => {
    const child = start(['dev'], project);
    let seen = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', text => (seen += text));
    await until('the first deployment', () => seen.includes('deployment 1 is live'));
    const before = readFileSync(join(project, 'svc.json'), 'utf8');
    writeFileSync(join(project, 'svc.json'), JSON.stringify({...JSON.parse(before), [key]: value}));
    await until('the refusal', () => seen.includes(`"${key}" in svc.json changed: start svc dev again`));
    writeFileSync(join(project, 'svc.json'), before);
    await until('the second deployment', () => seen.includes('deployment 2 is live'));
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  };
  for (const [key, value] of [
    ['tenant', 'another'],
    ['functions', 'source/'],
  ] as const) {
    nightly.test(`asks to be started again when "${key}" in svc.json changes`, () => restarted(key, value));
  }

  nightly.test('a flag wins over svc.json, whose change does not matter then', async () => {
    const child = start(['dev', '--tenant', 'flagged'], project);
    let seen = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', text => (seen += text));
    await until('the first deployment', () => seen.includes('deployment 1 is live'));
    writeFileSync(join(project, 'svc.json'), '{"tenant": "another"}');
    await until('the second deployment', () => seen.includes('deployment 2 is live'));
    expect(seen).toContain('/svc/flagged');
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  nightly.test('--once ends with 1 when the push failed', async () => {
    expect(await svc('dev', '--once', '--run', 'tasks:open')).toMatchObject({code: 0, stdout: '[]\n'});
    expect(await svc('dev', '--once', '--run', 'tasks:gone')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Could not find function'),
    });
    writeFileSync(join(project, 'svc/bad.ts'), 'export const x = ;');
    expect((await svc('dev', '--once')).code).toBe(1);
  });
});
