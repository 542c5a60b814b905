/** Real processes with a fast watch: what they do is their own or, where it cannot be made, written by the test. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {KILLS_AT_ONCE_MAX} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {Child, type ChildEnd, type KillReason} from '../../supervisor/child.ts';
import {KillPace} from '../../supervisor/kill-pace.ts';
import type {ProcessLook} from '../../supervisor/process-look.ts';

const TICK_MS = 50;
const LIMITS = {tickMs: TICK_MS, servingMs: 8 * TICK_MS, startingMs: 1_000 * TICK_MS, silenceMs: 10_000 * TICK_MS};
const log = createLogger({}, {write: () => undefined});

/** Says `hello`, sends heartbeats, and stops doing so when told what to do instead. */
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
    if (type === 'deaf') for (;;) put('{"type":"ask"}\\n');
  });
  process.send({type: 'hello'});
`;

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
async function start(look?: (pid: number) => ProcessLook | null, pace = new KillPace(() => 0)): Promise<Started> {
  const {promise: ended, resolve: onEnd} = Promise.withResolvers<ChildEnd>();
  const kills: KillReason[] = [];
  const waiting = new Map<string, () => void>();
  const said = (type: string) => new Promise<void>(resolve => waiting.set(type, resolve));
  const hello = said('hello');
  let answered: string | null = null;
  const child = new Child<{type: string}, {type: string}>({
    entry: join(directory, 'script.mjs'),
    nodeFlags: [],
    env: {},
    log,
    pace,
    limits: LIMITS,
    ...(look === undefined ? {} : {look}),
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

  test('because it waits for the disk, is not let run, or starts, lives on', async () => {
    const written: ProcessLook[] = [
      {doing: 'disk', cpuMs: 10, othersWork: false},
      {doing: 'runnable', cpuMs: 10, othersWork: false},
    ];
    for (const look of written) {
      let looks = 0;
      const enough = Promise.withResolvers<void>();
      const {child, ended, kills, said} = await start(() => {
        if (++looks === 40) enough.resolve();
        return look;
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
    let looks = 0;
    const enough = Promise.withResolvers<void>();
    const {child, ended, kills} = await start(() => {
      if (++looks === 40) enough.resolve();
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
    const pace = new KillPace(() => nowMs);
    for (let i = 0; i < KILLS_AT_ONCE_MAX; i++) pace.take();
    let looks = 0;
    const enough = Promise.withResolvers<void>();
    const {child, ended, kills} = await start(() => {
      if (++looks === 40) enough.resolve();
      return {doing: 'stopped', cpuMs: 10, othersWork: false};
    }, pace);
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
