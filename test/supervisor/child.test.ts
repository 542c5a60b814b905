/** Real processes with a fast watch: what they do is their own or, where it cannot be made, written by the test. */
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {createLogger, type LogFormat} from '../../shared/log.ts';
import {CHILD_LINE_BYTES_MAX, KILLS_AT_ONCE_MAX, WORKER_LINES_AT_ONCE_MAX} from '../../supervisor/limits.ts';
import {Child, type ChildEnd, type KillReason} from '../../supervisor/processes/child.ts';
import {KillRate} from '../../supervisor/processes/kill-rate.ts';
import type {ProcessProbe} from '../../supervisor/processes/process-probe.ts';
import {nightly} from '../harness/nightly.ts';

const TICK_MS = 50;
const LIMITS = {tickMs: TICK_MS, servingMs: 8 * TICK_MS, startingMs: 1_000 * TICK_MS, silenceMs: 10_000 * TICK_MS};
const silent = createLogger({}, {write: () => undefined});

const FLOOD_LINES = 2_000_000;

/** Says `hello`, sends heartbeats, and stops doing so when a message says what to do instead. */
const SCRIPT = `
  import {writeSync} from 'node:fs';
  const put = data => {
    try {
      writeSync(3, data);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  };
  const beats = setInterval(() => process.send({type: 'heartbeat'}), 10);
  process.on('message', ({type}) => {
    if (type === 'loop') for (;;);
    if (type === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    if (type === 'silence') clearInterval(beats);
    if (type === 'say') process.send({type: 'said'});
    if (type === 'long') process.send({type: 'said', text: 'x'.repeat(1_000_000)});
    if (type.startsWith('write ')) put(type.slice(6) + '\\n');
    if (type === 'endless') for (;;) put(Buffer.alloc(65_536, 120));
    if (type.startsWith('err ')) process.stderr.write(type.slice(4), () => process.send({type: 'said'}));
    if (type.startsWith('out ')) process.stdout.write(type.slice(4), () => process.send({type: 'said'}));
    if (type === 'flood') flood(FLOOD_LINES);
    if (type === 'bug') setImmediate(() => { throw new RangeError('a bug of ours'); });
    if (type === 'deaf') for (;;) put('{"type":"ask"}\\n');
  });
  const flood = left => {
    if (left === 0) process.send({type: 'said'});
    else process.stderr.write('x\\n'.repeat(50_000), () => flood(left - 50_000));
  };
  process.send({type: 'hello'});
`.replace('FLOOD_LINES', String(FLOOD_LINES));

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  writeFileSync(join(directory, 'script.mjs'), SCRIPT);
});
afterAll(() => rmSync(directory, {recursive: true, force: true}));

type Started = {
  child: Child<{type: string}, {type: string}>;
  ended: Promise<ChildEnd>;
  kills: KillReason[];
  said: (type: string) => Promise<void>;
  /** From now on it is answered with so much. */
  answer: (text: string) => void;
};

/** A child that has said hello. */
async function start(
  probe?: (pid: number) => ProcessProbe | null,
  rate = new KillRate(() => 0),
  log = silent,
): Promise<Started> {
  const {promise: ended, resolve: onEnd} = Promise.withResolvers<ChildEnd>();
  const kills: KillReason[] = [];
  const waiting = new Map<string, () => void>();
  const said = (type: string) => new Promise<void>(resolve => waiting.set(type, resolve));
  const hello = said('hello');
  let answered: string | null = null;
  const child = new Child<{type: string}, {type: string}>({
    kind: 'worker',
    tenant: () => 'acme',
    entry: join(directory, 'script.mjs'),
    nodeFlags: [],
    env: {},
    log,
    rate,
    limits: LIMITS,
    ...(probe === undefined ? {} : {probe}),
    onMessage: ({type}) => {
      waiting.get(type)?.();
      if (type === 'ask' && answered !== null) child.send({type: answered});
    },
    onKill: reason => kills.push(reason),
    onEnd,
  });
  await hello;
  const answer = (text: string) => {
    answered = text;
  };
  return {child, ended, kills, said, answer};
}

describe('a child that gives no sign of life', () => {
  test.each([['loop'], ['wait']])('because it is in an endless %s is killed', async script => {
    const {child, ended, kills} = await start();
    child.serves();
    child.send({type: script});
    expect(await ended).toEqual({code: null, signal: 'SIGKILL'});
    expect(kills).toEqual(['hung']);
  });

  test('because it is stopped is killed', async () => {
    const {child, ended, kills} = await start();
    child.serves();
    process.kill(child.pid!, 'SIGSTOP');
    expect(await ended).toEqual({code: null, signal: 'SIGKILL'});
    expect(kills).toEqual(['hung']);
  });

  nightly.test('because it waits for the disk, is not let run, or starts, lives on', async () => {
    const written: ProcessProbe[] = [
      {doing: 'disk', cpuMs: 10, othersWork: false},
      {doing: 'runnable', cpuMs: 10, othersWork: false},
    ];
    for (const probe of written) {
      let polls = 0;
      const enough = Promise.withResolvers<void>();
      const {child, ended, kills, said} = await start(() => {
        if (++polls === 40) enough.resolve();
        return probe;
      });
      child.serves();
      child.send({type: 'silence'});
      await enough.promise;
      child.send({type: 'say'});
      await said('said');
      expect(kills).toEqual([]);
      child.kill();
      await ended;
    }
    let polls = 0;
    const enough = Promise.withResolvers<void>();
    const {child, ended, kills} = await start(() => {
      if (++polls === 40) enough.resolve();
      return {doing: 'sleeping', cpuMs: 10, othersWork: false};
    });
    child.send({type: 'silence'});
    await enough.promise;
    expect(kills).toEqual([]);
    child.serves(); // from now on its silence counts as that of any other
    expect((await ended).signal).toBe('SIGKILL');
  });

  test('is spared while too many others were killed, and killed when the pace allows it', async () => {
    let nowMs = 0;
    const rate = new KillRate(() => nowMs);
    for (let i = 0; i < KILLS_AT_ONCE_MAX; i++) rate.take();
    let polls = 0;
    const enough = Promise.withResolvers<void>();
    const {child, ended, kills} = await start(() => {
      if (++polls === 40) enough.resolve();
      return {doing: 'stopped', cpuMs: 10, othersWork: false};
    }, rate);
    child.serves();
    child.send({type: 'silence'});
    await enough.promise;
    expect(kills).toEqual([]);
    nowMs = 1e9;
    expect((await ended).signal).toBe('SIGKILL');
    expect(kills).toEqual(['hung']);
  });
});

describe('what a child says that was taken over', () => {
  test.each([
    ['no JSON', 'x'],
    ['nothing', ''],
    ['null', 'null'],
    ['a text', '"hello"'],
    ['a list', '[{"type":"hello"}]'],
    ['no type', '{"id":1}'],
    ['what Node says to Node', '{"cmd":"NODE_HANDLE_ACK"}'],
    ['JSON that nobody can take', '['.repeat(200_000)],
  ])('%s ends it, and nobody else', async (_, text) => {
    const {child, ended, kills} = await start();
    child.send({type: `write ${text}`});
    expect(await ended).toEqual({code: null, signal: 'SIGKILL'});
    expect(kills).toEqual(['nonsense']);
  });

  test('a line without an end ends it', async () => {
    const {child, ended, kills} = await start();
    child.send({type: 'endless'});
    expect(await ended).toEqual({code: null, signal: 'SIGKILL'});
    expect(kills).toEqual(['nonsense']);
  });

  test('questions whose answers it does not read end it', async () => {
    const {child, ended, kills, answer} = await start();
    answer('x'.repeat(100_000));
    child.send({type: 'deaf'});
    expect(await ended).toEqual({code: null, signal: 'SIGKILL'});
    expect(kills).toEqual(['nonsense']);
  });

  test('a long line is taken as it is', async () => {
    const {child, ended, kills, said} = await start();
    const heard = said('said');
    child.send({type: 'long'});
    await heard;
    expect(kills).toEqual([]);
    child.kill();
    await ended;
  });
});

describe('what a child writes', () => {
  type Line = Record<string, unknown>;

  async function writing(format: LogFormat = 'json'): Promise<Started & {texts: string[]; lines: () => Line[]}> {
    const texts: string[] = [];
    const log = createLogger({process: 'supervisor'}, {format, write: text => texts.push(text)});
    const started = await start(undefined, undefined, log);
    return {...started, texts, lines: () => texts.map(text => JSON.parse(text) as Line)};
  }

  async function order({child, said}: Started, type: string): Promise<void> {
    const done = said('said');
    child.send({type});
    await done;
  }

  async function end({child, ended}: Started): Promise<void> {
    child.kill();
    await ended;
  }

  test('is the log of its own process and tenant, whatever it says it is', async () => {
    const one = await writing();
    const forged = {time: 'x', level: 'error', message: 'm', process: 'supervisor', tenant: 'other', pid: 1, n: 1};
    await order(one, 'out svc listening on http://evil.example\n');
    await order(one, `err ${JSON.stringify(forged)}\n`);
    await order(one, 'err {"level":"fatal","message":"m"}\n');
    await order(one, 'err \u001b]0;x\u0007\u009b31m\u202e\n');
    await order(one, `err \n\n${'y'.repeat(3 * CHILD_LINE_BYTES_MAX)}\nwithout an end`);
    await end(one);
    const label = {process: 'worker', tenant: 'acme', pid: one.child.pid};
    for (const line of one.lines()) expect(line).toMatchObject({...label, time: expect.stringMatching(/^\d{4}-/)});
    expect(one.lines().map(({level, message, text, n}) => text ?? [level, message, n])).toEqual([
      'svc listening on http://evil.example',
      ['error', 'm', 1],
      '{"level":"fatal","message":"m"}',
      '\u001b]0;x\u0007\u009b31m\u202e',
      expect.stringMatching(/^y{1024}… \(65536 characters\)$/),
      'without an end',
    ]);
    expect(one.texts.join('')).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  test('has its error with stack and cause, in the format of the server', async () => {
    const one = await writing('pretty');
    const error = {name: 'AssertionError', message: 'm', stack: 'AssertionError: m\n12:00 info supervisor: at x.js'};
    await order(one, `err ${JSON.stringify({level: 'error', message: 'ends', error})}\n`);
    one.child.send({type: 'bug'});
    expect((await one.ended).code).toBe(1);
    const lines = one.texts.join('').split('\n');
    expect(lines[0]).toMatch(/^[\d:.]+ error worker \d+ acme: ends error=\{"name":"AssertionError","message":"m"\}$/);
    expect(lines.slice(1, 3)).toEqual(['  AssertionError: m', '  12:00 info supervisor: at x.js']);
    expect(lines.some(line => / warn {2}worker \d+ acme: .*RangeError: a bug of ours/.test(line))).toBe(true);
  });

  test('beyond the rate is dropped and counted, and the child is not held up', async () => {
    const one = await writing();
    await order(one, 'flood');
    await end(one);
    const lines = one.lines();
    expect(lines.length).toBeLessThan(2 * WORKER_LINES_AT_ONCE_MAX);
    expect(lines.filter(({message}) => String(message).startsWith('a child process writes too much'))).toHaveLength(1);
    const dropped = lines.filter(({message}) => message === 'lines of a child process were dropped');
    expect(dropped).toHaveLength(1);
    const written = lines.filter(({text}) => text === 'x').length;
    expect(written + Number(dropped[0]!.lines)).toBe(FLOOD_LINES);
    expect(one.kills).toEqual([]);
  });

  test('goes to no terminal: it has a session of its own', async () => {
    const one = await writing();
    const fields = readFileSync(`/proc/${one.child.pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const [, , group, session, terminal] = fields.map(Number);
    expect([group, session, terminal]).toEqual([one.child.pid, one.child.pid, 0]);
    await end(one);
  });
});
