import {appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {createLogger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {
  LOG_FAILURES_BURST,
  LOG_FILE_BYTES,
  LOG_FILES_KEEP,
  LOG_UNWRITTEN_CHARS_MAX,
} from '../../../worker/runtime/limits.ts';
import {executionFiles} from '../../../worker/runtime/log/execution-log.ts';
import {svc} from '../../harness/command.ts';
import {Service} from '../../harness/service.ts';
import {expectError} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'f.ts': `
    import {query} from './_generated/server';
    export const quiet = query({args: {}, handler: () => 1});
    export const says = query({args: {}, handler: () => { console.log('a word'); return 1; }});
    export const boom = query({args: {}, handler: () => { console.log('before'); throw new Error('boom'); }});`,
};

async function read(app: App, query: string): Promise<LogEntry[]> {
  const {status, text} = await app.admin('GET', `/logs?${query}`);
  expect(status).toBe(200);
  return text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as LogEntry);
}

const requestIdOf = (message: string | undefined) => /\[Request ID: (\S+)\]/.exec(message ?? '')![1]!;

describe('what functions log is there after the process that ran them', () => {
  let service: Service;
  let app: App;
  beforeAll(async () => {
    service = await Service.start({args: ['--redact-errors']});
    app = await App.deploy(service, FILES);
  });
  afterAll(() => service.stop());

  test('a failure that a user reports is found by its request id, after a restart, with all that was kept from the user', async () => {
    const {errorMessage} = await app.reply('query', 'f:boom', {});
    const id = requestIdOf(errorMessage);
    expect(errorMessage).toBe(`[Request ID: ${id}] Server Error`);
    await service.end('SIGTERM');
    await service.run();
    const found = await read(app, `request_id=${id}`);
    expect(found).toEqual([
      expect.objectContaining({
        request_id: id,
        path: 'f:boom',
        outcome: 'error',
        error: expect.stringMatching(/^Uncaught Error: boom\n {4}at .*svc\/f\.ts:5:/),
        lines: ["[LOG] 'before'"],
      }),
    ]);
    const shown = await svc(['logs', '--tenant', app.tenant, '--request-id', id], {
      SVC_URL: service.url,
      SVC_DATA: service.data,
    });
    expect(shown.stdout).toContain(`failed in`);
    expect(shown.stdout).toContain(`[${id}]`);
    expect(shown.stdout).toContain('Uncaught Error: boom');
    expect(shown.code).toBe(0);
  });

  test('it is in the log of the service under that id, too', async () => {
    const {errorMessage} = await app.reply('query', 'f:boom', {});
    const id = requestIdOf(errorMessage);
    await until('the line', () => service.log.includes(id));
    const line = service.log.split('\n').find(text => text.includes(id))!;
    expect(JSON.parse(line)).toMatchObject({level: 'warn', tenant: app.tenant, request: id, path: 'f:boom'});
    expect(line).toContain('Uncaught Error: boom');
  });

  test('the history goes back before a restart and a killed worker', async () => {
    await app.reply('query', 'f:says', {});
    await read(app, 'path=f:says'); // a search waits until all is on disk
    for (const pid of service.children('worker')) process.kill(pid, 'SIGKILL');
    await until('the worker is gone', async () => (await app.svc('POST', '/query', {path: 'f:quiet'})).status === 200);
    const paths = (await read(app, 'history=100')).map(({path}) => path);
    expect(paths).toContain('f:says');
    expect(paths.at(-1)).toBe('f:quiet');
  });

  test('searches by outcome, path and time, oldest first, the newest when there are more than asked for', async () => {
    const before = Date.now();
    for (const path of ['f:says', 'f:boom', 'f:quiet', 'f:boom']) await app.reply('query', path, {});
    const since = `since=${before}`;
    const pathsOf = async (query: string) => (await read(app, query)).map(({path}) => path);
    expect(await pathsOf(since)).toEqual(['f:says', 'f:boom', 'f:quiet', 'f:boom']);
    expect(await pathsOf(`${since}&outcome=error`)).toEqual(['f:boom', 'f:boom']);
    expect(await pathsOf(`${since}&outcome=success&path=f:says`)).toEqual(['f:says']);
    expect(await pathsOf(`${since}&history=2`)).toEqual(['f:quiet', 'f:boom']);
    expect(await pathsOf(`since=${encodeURIComponent(new Date(before + 86_400_000).toISOString())}`)).toEqual([]);
    expect(await pathsOf(`until=1000`)).toEqual([]);
  });

  test.each([
    ['since=yesterday', 'since must be'],
    ['until=', 'until must be'],
    ['outcome=bad', 'outcome must be success or error'],
    ['history=-1', 'history must be'],
  ])('%s is 400', async (query, message) => {
    expect(expectError(await app.admin('GET', `/logs?${query}`), 400, 'op.invalid_input').message).toContain(message);
  });

  test('files are for the owner alone', () => {
    const directory = join(service.directoryOf(app.tenant)!, 'log');
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test('callers who fail all the time do not fill the log of the service', async () => {
    const noisy = await App.deploy(service, FILES);
    for (let i = 0; i < LOG_FAILURES_BURST * 3; i++) await noisy.reply('query', 'f:boom', {});
    const lines = service.log
      .split('\n')
      .filter(line => line.includes('a function failed') && line.includes(noisy.tenant));
    expect(lines.length).toBeLessThan(LOG_FAILURES_BURST * 2);
    expect(await read(noisy, 'outcome=error')).toHaveLength(LOG_FAILURES_BURST * 3);
  });
});

describe('the files of a log', () => {
  let directory: string;
  let warnings: string[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-log-files-'));
    warnings = [];
  });
  afterEach(() => rmSync(directory, {recursive: true}));

  const files = (where = join(directory, 'log')) =>
    executionFiles(where, createLogger({}, {level: 'warn', format: 'json', write: line => void warnings.push(line)}));
  const entry = (n: number, chars = 10) =>
    `${JSON.stringify({n, at: n, duration_ms: 0, request_id: `id-${n}`, lines: ['x'.repeat(chars)]})}\n`;
  const numbers = async (log: ReturnType<typeof files>, options = {}) => {
    const found: number[] = [];
    for await (const {entry} of log.read(options)) found.push(entry.n);
    return found;
  };

  test('are bounded: the oldest leave, the newest stay', async () => {
    const log = files();
    const perFile = 4;
    const written = perFile * (LOG_FILES_KEEP + 3);
    for (let n = 1; n <= written; n++) {
      log.write(entry(n, LOG_FILE_BYTES / perFile));
      await log.flush();
    }
    expect(readdirSync(join(directory, 'log'))).toHaveLength(LOG_FILES_KEEP);
    const kept = await numbers(log);
    expect(kept.at(-1)).toBe(written);
    expect(kept).toEqual(Array.from({length: kept.length}, (_, i) => written - kept.length + 1 + i));
    await log.close();
  });

  test('are no larger because much was written at once', async () => {
    const log = files();
    for (let n = 1; n <= 12; n++) log.write(entry(n, LOG_FILE_BYTES / 4));
    await log.flush();
    const names = readdirSync(join(directory, 'log'));
    const sizes = names.map(name => statSync(join(directory, 'log', name)).size);
    expect(Math.max(...sizes)).toBeLessThan(1.5 * LOG_FILE_BYTES);
    expect(await numbers(log)).toEqual(Array.from({length: 12}, (_, i) => i + 1));
    await log.close();
  });

  test('tell what another process wrote from what this one did', async () => {
    const first = files();
    first.write(entry(1));
    await first.close();
    const second = files();
    expect(await numbers(second, {beforeThisProcess: true})).toEqual([1]);
    second.write(entry(2));
    await second.flush();
    expect(await numbers(second, {beforeThisProcess: true})).toEqual([1]);
    expect(await numbers(second)).toEqual([1, 2]);
    await second.close();
  });

  test('are read around what a crash tore or a disk damaged', async () => {
    const log = files();
    log.write(entry(1));
    await log.close();
    const path = join(directory, 'log', 'executions-000001.jsonl');
    appendFileSync(path, '{"n":2,"at"');
    const next = files();
    next.write(entry(3));
    await next.close();
    appendFileSync(path, `\n\0\0\n[]\nnull\n${entry(4)}`);
    expect(await numbers(files())).toEqual([1, 4, 3]);
    expect(readFileSync(path, 'utf8')).toContain('{"n":2,"at"'); // nothing is repaired behind anybody's back
  });

  test('that a slow disk has not taken yet are bounded, whatever was handed to it already', async () => {
    const log = files();
    const chunk = LOG_UNWRITTEN_CHARS_MAX / 4;
    for (let n = 1; n <= 8; n++) {
      log.write(entry(n, chunk - 200));
      void log.flush();
    }
    await log.flush();
    expect(await numbers(log)).toEqual([1, 2, 3, 4]);
    expect(warnings).toHaveLength(1);
    log.write(entry(9)); // there is room again
    await log.flush();
    expect((await numbers(log)).at(-1)).toBe(9);
    await log.close();
  });

  test('that cannot be written cost a warning, and no more than one a minute', async () => {
    writeFileSync(join(directory, 'log'), 'in the way');
    const log = files();
    for (let n = 1; n <= 3; n++) {
      log.write(entry(n));
      await log.flush();
    }
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('could not be written');
  });
});
