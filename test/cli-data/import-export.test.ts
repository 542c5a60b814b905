import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer, request} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pipeline} from 'node:stream';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {firstOf, nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let service: Service;
let directory: string;
let files = 0;

beforeAll(async () => {
  service = await Service.start();
  directory = mkdtempSync(join(tmpdir(), 'svc-test-files-'));
});
afterAll(async () => {
  await service.stop();
  rmSync(directory, {recursive: true});
});

type Outcome = {code: number | null; stdout: string; stderr: string};
/** `keepOpen`: standard input is not ended. */
type CommandOptions = {input?: string; keepOpen?: true; env?: Record<string, string>; onPid?: (pid: number) => void};

function svc(args: string[], {input = '', keepOpen, env = {}, onPid}: CommandOptions = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: {
      PATH: process.env.PATH ?? '',
      SVC_URL: service.url,
      SVC_DATA: service.data,
      XDG_STATE_HOME: directory,
      ...env,
    },
  });
  onPid?.(child.pid!);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}); // it ended before it read all
  child.stdin.write(input);
  if (keepOpen === undefined) child.stdin.end();
  return new Promise(resolve => child.once('close', code => resolve({code, stdout, stderr})));
}

function fileOf(text: string): string {
  files += 1;
  const path = join(directory, `lines-${files}.jsonl`);
  writeFileSync(path, text);
  return path;
}

function jsonLines(values: unknown[]): string {
  return values.map(value => `${JSON.stringify(value)}\n`).join('');
}

const NO_SYSTEM_FIELDS = {_id: 0, _creationTime: 0, _updateTime: 0};

/** Documents without their system fields, in an order of their own. */
function contents(documents: object[]): string[] {
  return documents.map(document => JSON.stringify({...NO_SYSTEM_FIELDS, ...document, ...NO_SYSTEM_FIELDS})).toSorted();
}

const numbered = (count: number): object[] => Array.from({length: count}, (_, i) => ({i, text: `line ${i} é "\n`}));

describe('svc import', () => {
  test('inserts a document for each line; empty lines are passed over', async () => {
    const tenant = await Tenant.make(service);
    const file = fileOf('{"a":1}\n\n  \r\n{"a":2}');
    const outcome = await svc(['import', '--tenant', tenant.id, '--table', 't', '--in-flight', '1', file]);
    expect(outcome).toMatchObject({code: 0, stdout: expect.stringMatching(/^imported 2 documents/)});
    expect((await tenant.list('t')).map(document => document.a)).toEqual([1, 2]);
  });

  test('reads standard input with -', async () => {
    const tenant = await Tenant.make(service);
    const input = jsonLines(numbered(300));
    expect(await svc(['import', '--tenant', tenant.id, '--table', 't', '-'], {input})).toMatchObject({code: 0});
    expect(contents(await tenant.list('t'))).toEqual(contents(numbered(300)));
  });

  test('--create-tenant makes the tenant; without it a missing one is an error', async () => {
    const args = ['import', '--table', 't', '--tenant', 'made-by-import', fileOf('{"a":1}\n')];
    expect(await svc(args)).toMatchObject({
      code: 1,
      stderr: 'svc import: there is no tenant made-by-import; --create-tenant makes it\n',
    });
    expect(await svc([...args, '--create-tenant'])).toMatchObject({code: 0});
    expect(await svc([...args, '--create-tenant'])).toMatchObject({code: 0});
  });

  test('the same file again adds nothing; under another --import-id it does', async () => {
    const tenant = await Tenant.make(service);
    const args = ['import', '--tenant', tenant.id, '--table', 't', fileOf(jsonLines(numbered(50)))];
    await svc(args);
    expect((await svc(args)).stdout).toContain('imported 50 documents');
    expect((await svc(args)).stdout).toContain('50 of them had been imported earlier');
    expect(await tenant.list('t')).toHaveLength(50);
    await svc([...args, '--import-id', 'second']);
    expect(await tenant.list('t')).toHaveLength(100);
  });

  test.each(
    firstOf(2, [
      ['{"a":1e999}', 'fields.a is a number beyond the range of a double'],
      ['{"_secret":1}', '_secret'],
      ['[1]', 'the line is not a JSON object'],
      ['{"a":1},"table":"other"', 'the line is not JSON'],
      ['{"a":1', 'the line is not JSON'],
    ]),
  )('stops at the bad line %s and names its place; corrected, it goes on', async (bad, message) => {
    const tenant = await Tenant.make(service);
    const file = fileOf(`{"a":0}\n${bad}\n`);
    const args = ['import', '--tenant', tenant.id, '--table', 't', file];
    const outcome = await svc(args);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain(`${file}:2: `);
    expect(outcome.stderr).toContain(message);
    writeFileSync(file, '{"a":0}\n{"a":1}\n');
    expect(await svc(args)).toMatchObject({code: 0});
    expect((await tenant.list('t')).map(document => document.a).toSorted()).toEqual([0, 1]);
  });

  test('--skip-bad counts bad lines and goes on', async () => {
    const tenant = await Tenant.make(service);
    await tenant.putSchema('t', [{name: 'a', field_type: 'number', required: true}]);
    const file = fileOf('{"a":"text"}\n{"a":1}\nnope\n');
    const outcome = await svc(['import', '--tenant', tenant.id, '--table', 't', '--skip-bad', file]);
    expect(outcome).toMatchObject({code: 0, stdout: expect.stringContaining('2 bad lines skipped')});
    expect(outcome.stderr).toContain(`${file}:1: `);
    expect(outcome.stderr).toContain(`${file}:3: `);
    expect(await tenant.list('t')).toHaveLength(1);
  });

  test('empty lines count as lines, at the end of what is sent too', async () => {
    const tenant = await Tenant.make(service);
    const empty = '\n'.repeat(1_100_000); // more than one request is long
    const file = fileOf(`{"a":1}\n\n${empty}{"a":2}\nnope\n`);
    const args = ['import', '--tenant', tenant.id, '--table', 't', file];
    expect((await svc(args)).stderr).toContain(`${file}:1100004: the line is not JSON`);
    writeFileSync(file, `{"a":1}\n\n${empty}{"a":2}\n${' '.repeat(1_100_000)}\nnope\n`);
    expect((await svc(args)).stderr).toContain(`${file}:1100005: the line is not JSON`);
    expect((await tenant.list('t')).map(document => document.a)).toEqual([1, 2]);
  });

  test('a line that is too long is refused at its place', async () => {
    const tenant = await Tenant.make(service);
    const file = fileOf(`{"a":1}\n{"a":"${'x'.repeat(6_000_000)}"}\n{"a":2}\n`);
    const outcome = await svc(['import', '--tenant', tenant.id, '--table', 't', '--skip-bad', file]);
    expect(outcome).toMatchObject({code: 0, stderr: `${file}:2: the line is longer than 4194304 bytes\n`});
    expect((await tenant.list('t')).map(document => document.a)).toEqual([1, 2]);
  });

  test('imported lines that have changed since are reported, and none of them is passed over', async () => {
    const tenant = await Tenant.make(service);
    const file = fileOf(jsonLines(numbered(5)));
    const args = ['import', '--tenant', tenant.id, '--table', 't', file];
    await svc(args);
    writeFileSync(file, jsonLines(numbered(9)));
    expect(await svc(args)).toMatchObject({code: 0, stdout: expect.stringContaining('5 of them had been imported')});
    for (const others of [jsonLines(numbered(20)).replace('line 3', 'line x'), jsonLines(numbered(2))]) {
      writeFileSync(file, others);
      expect(await svc(args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('imported lines 1 to 9, which are others now'),
      });
    }
    expect(await svc([...args, '--import-id', 'other'])).toMatchObject({code: 0});
    expect(contents(await tenant.list('t'))).toEqual(contents([...numbered(9), ...numbered(2)]));
  });

  nightly.test('goes on through the death of the worker and of the router: every line is there once', async () => {
    const tenant = await Tenant.make(service);
    const documents = numbered(60_000);
    const running = svc(['import', '--tenant', tenant.id, '--table', 't', fileOf(jsonLines(documents))]);
    const imported = async (): Promise<number> => {
      const {body} = await service.get(`/api/tenants/${tenant.id}/import`);
      const {imports}: {imports: {lines: number}[]} = body;
      return imports[0]?.lines ?? 0;
    };
    await until('the first lines', async () => (await imported()) > 0);
    process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    await until('lines after the death of the worker', async () => (await imported()) > 30_000);
    process.kill(service.children('router')[0]!, 'SIGKILL');
    expect(await running).toMatchObject({code: 0, stdout: expect.stringMatching(/^imported 60000 documents/)});
    expect(contents(await tenant.list('t'))).toEqual(contents(documents));
  });

  test('Ctrl-C ends it in order with code 130, and running it again completes it', async () => {
    const tenant = await Tenant.make(service);
    const args = ['import', '--tenant', tenant.id, '--table', 't', '-'];
    const input = jsonLines(numbered(20_000));
    let pid = 0;
    const running = svc(args, {
      input,
      keepOpen: true,
      onPid: value => {
        pid = value;
      },
    });
    await until('the first document', async () => (await tenant.query({table: 't', filters: [], limit: 1})).length > 0);
    process.kill(pid, 'SIGINT');
    expect(await running).toMatchObject({code: 130, stderr: expect.stringContaining('interrupted')});
    expect(await svc(args, {input})).toMatchObject({code: 0});
    expect(await tenant.list('t')).toHaveLength(20_000);
  });
});

describe('svc export', () => {
  test('with --table writes a document a line, with its system fields', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insertAll('t', numbered(2_500));
    await tenant.insert('other', {a: 1});
    const outcome = await svc(['export', '--tenant', tenant.id, '--table', 't']);
    expect(outcome.code).toBe(0);
    const lines = outcome.stdout.trimEnd().split('\n');
    expect(lines.map(line => JSON.parse(line))).toEqual(await tenant.list('t'));
  });

  test('without --table writes every table, and import reads it back', async () => {
    const [from, to] = [await Tenant.make(service), await Tenant.make(service)];
    await from.insertAll('t', numbered(2_500));
    await from.insertAll('other', [{table: 'x', document: {'}': '{"'}}, JSON.parse('{"a": {"__proto__": 1}}')]);
    const file = join(directory, 'all.jsonl');
    expect(await svc(['export', '--tenant', from.id, file])).toMatchObject({code: 0, stdout: ''});
    expect(await svc(['import', '--tenant', to.id, file])).toMatchObject({code: 0});
    for (const table of ['t', 'other']) {
      expect(contents(await to.list(table))).toEqual(contents(await from.list(table)));
    }
  });

  nightly.test('large documents', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insertAll(
      't',
      Array.from({length: 24}, (_, i) => ({i, text: 'x'.repeat(1_000_000)})),
      4,
    );
    const file = join(directory, 'large.jsonl');
    expect(await svc(['export', '--tenant', tenant.id, '--table', 't', file])).toMatchObject({code: 0});
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines.map(line => (JSON.parse(line) as {i: number}).i).toSorted((a, b) => a - b)).toEqual([
      ...Array(24).keys(),
    ]);
  });

  nightly.test('with --format csv writes a header and a record a document, and counts them', async () => {
    const tenant = await Tenant.make(service);
    for (const i of [0, 1]) await tenant.insert('t', {i, text: 'two\nlines "', more: true});
    const file = join(directory, 'of.csv');
    const args = ['export', '--tenant', tenant.id, '--table', 't', '--format', 'csv', '--columns', 'i,text', file];
    expect(await svc(args)).toMatchObject({code: 0, stderr: expect.stringMatching(/^exported 2 documents/)});
    expect(readFileSync(file, 'utf8')).toBe('i,text\r\n0,"two\nlines """\r\n1,"two\nlines """\r\n');
    expect(await svc(['export', '--tenant', tenant.id, '--format', 'csv'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('table'),
    });
  });

  nightly.test(
    'a worker that is killed in the middle of it: the export fails, leaves no file and keeps an older one',
    async () => {
      const tenant = await Tenant.make(service);
      const documents = Array.from({length: 24}, (_, i) => ({i, text: 'x'.repeat(1_000_000)}));
      await tenant.insertAll('t', documents, 4);
      // Between the two, so that the kill comes when some of it has arrived.
      const between = createServer((asked, answer) => {
        const from = request(`${service.url}${asked.url}`, {headers: asked.headers}, async reply => {
          answer.writeHead(reply.statusCode!, reply.headers);
          const [first] = (await once(reply, 'data')) as [Buffer];
          reply.pause();
          answer.write(first);
          const worker = await service.workerOf(tenant.id);
          process.kill(worker, 'SIGKILL');
          await until('its end', () => !isAlive(worker));
          pipeline(reply, answer, () => undefined);
        });
        from.end();
      });
      between.listen(0, '127.0.0.1');
      await once(between, 'listening');
      const env = {SVC_URL: `http://127.0.0.1:${(between.address() as AddressInfo).port}`};
      const file = fileOf('older\n');
      const outcome = await svc(['export', '--tenant', tenant.id, file], {env});
      between.close();
      expect(outcome).toMatchObject({code: 1, stderr: expect.stringContaining('nothing is exported')});
      expect(readFileSync(file, 'utf8')).toBe('older\n');
      expect(readdirSync(directory).filter(name => name.endsWith('.tmp'))).toEqual([]);
    },
  );

  test('a failed export leaves no file and keeps an older one', async () => {
    const file = fileOf('older\n');
    expect(await svc(['export', '--tenant', 'nobody', file])).toMatchObject({
      code: 1,
      stderr: 'svc export: there is no tenant "nobody"\n',
    });
    expect(readFileSync(file, 'utf8')).toBe('older\n');
    const path = join(directory, 'no-such-directory', 'file');
    expect((await svc(['export', '--tenant', await service.tenant(), path])).stderr).toMatch(
      /^svc export: cannot write/,
    );
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(directory).filter(name => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('commands that talk to a server say what is wrong in one sentence', () => {
  test.each<[string, Record<string, string>, number, RegExp]>([
    [
      'no server',
      {SVC_URL: 'http://127.0.0.1:1'},
      1,
      /^svc export: no server answers at http:\/\/127\.0\.0\.1:1: .*\n$/,
    ],
    ['a wrong URL', {SVC_URL: 'elsewhere'}, 2, /^svc export: --url must be like .*\n$/],
    ['a wrong token', {SVC_ACCESS_TOKEN: 'wrong-wrong-wrong-wrong'}, 1, /^svc export: .* does not accept .*\n$/],
    ['no token', {SVC_DATA: '/nonexistent'}, 1, /^svc export: no access token: .*\n$/],
  ])('%s', async (_, env, code, sentence) => {
    expect(await svc(['export', '--tenant', 't'], {env})).toMatchObject({
      code,
      stderr: expect.stringMatching(sentence),
    });
  });

  test.each([
    ['a missing file', '/nonexistent/file', /^svc import: cannot read \/nonexistent\/file: .*\n$/],
    ['a directory', tmpdir(), /^svc import: cannot read .*: it is a directory\n$/],
  ])('%s', async (_, file, sentence) => {
    const outcome = await svc(['import', '--tenant', await service.tenant(), '--table', 't', file]);
    expect(outcome).toMatchObject({code: 1, stderr: expect.stringMatching(sentence)});
  });
});
