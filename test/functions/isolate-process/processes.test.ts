/** Processes that start, idle and misbehave, seen from the worker. */
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, expect, onTestFinished, test} from 'vitest';
import type {ServiceError} from '../../../shared/errors.ts';
import {createLogger} from '../../../shared/log.ts';
import type {Execution} from '../../../worker/runtime/execution.ts';
import {FunctionIsolates} from '../../../worker/runtime/isolate-process/function-isolates.ts';
import type {IsolateProcessOptions} from '../../../worker/runtime/isolate-process/isolate-process.ts';
import {nightly} from '../../harness/nightly.ts';
import {until} from '../../harness/until.ts';

const MAIN = fileURLToPath(new URL('../../../dist/isolates.js', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-isolate-process-'));
afterAll(() => rmSync(directory, {recursive: true}));

const EXECUTION: Execution = {
  deployment: {id: 1, timestampMs: 0, seed: '0'.repeat(32)},
  path: 'a:f',
  module: 'a',
  name: 'f',
  paginated: false,
  args: '{}',
  caller: {identity: null},
  env: {},
  nowMs: 0,
  seed: '0'.repeat(32),
  endCursor: null,
};

/** With a process that runs this script, or the real one. */
function isolates({script, ...options}: Partial<IsolateProcessOptions> & {script?: string}): {
  host: FunctionIsolates;
  ends: string[];
} {
  const file = join(directory, 'main.mjs');
  if (script !== undefined) writeFileSync(file, script);
  const ends: string[] = [];
  const host = new FunctionIsolates({
    databasePath: join(directory, 'none.sqlite'),
    headSequence: () => 0,
    start: {parentWatch: [], main: script === undefined ? MAIN : file, ...options},
    spare: null,
    log: createLogger({process: 'worker'}),
    onEnd: cause => ends.push(cause),
  });
  onTestFinished(() => host.close());
  return {host, ends};
}

test('one without calls ends after a while, and the next call starts another', async () => {
  const {host, ends} = isolates({idleMs: 50});
  host.start();
  expect(host.processes).toBe(1);
  await until('its end', () => host.processes === 0);
  expect(ends).toEqual(['told']);
  host.start();
  expect(host.processes).toBe(1);
});

test('one that cannot start: its calls are 503, and the next call tries again', async () => {
  const {host, ends} = isolates({script: 'process.exit(1)'});
  await expect(host.run(EXECUTION)).rejects.toMatchObject({code: 'session.worker_unavailable'});
  expect(ends).toEqual(['start', 'start']);
  await expect(host.run(EXECUTION)).rejects.toMatchObject({code: 'session.worker_unavailable'});
  expect(ends).toHaveLength(4);
});

const frame = (head: object) => `
  const json = Buffer.from(${JSON.stringify(JSON.stringify(head))});
  const bytes = Buffer.alloc(8 + json.length);
  bytes.writeUInt32LE(json.length, 0);
  bytes.writeUInt32LE(json.length, 4);
  json.copy(bytes, 8);
  writeSync(3, bytes);`;
const stays = 'setInterval(() => undefined, 1000);';

test.each([
  ['bytes that are no frame', 'writeSync(3, Buffer.alloc(64, 255));'],
  ['a message that there is not', frame({type: 'exec'})],
  [
    'a result of the future',
    frame({
      type: 'ran',
      runs: [
        [
          1,
          0,
          0,
          {
            outcome: {ok: true},
            lines: [],
            identityUsed: false,
            isMomentary: false,
            readSet: null,
            endCursor: null,
            starved: null,
            sequence: 1_000_000,
          },
        ],
      ],
    }),
  ],
])('one that says %s is ended, and its query is tried once more, apart', async (_title, says) => {
  const {host, ends} = isolates({script: `import {writeSync} from 'node:fs';\n${says}\n${stays}`});
  await expect(host.run(EXECUTION)).rejects.toMatchObject({code: 'session.worker_unavailable'});
  expect(ends).toEqual(['malformed', 'malformed']);
});

test('a tenant that is closed ends its process, and what comes is refused', async () => {
  const {host, ends} = isolates({});
  host.start();
  await host.close();
  expect(ends).toEqual(['told']);
  await expect(host.run(EXECUTION)).rejects.toMatchObject({code: 'session.worker_unavailable'});
});

test('one that ends while what it started holds its pipes open: its calls get errors', async () => {
  const started = join(directory, 'started.pid');
  onTestFinished(() => void process.kill(Number(readFileSync(started, 'utf8')), 'SIGKILL'));
  const {host, ends} = isolates({
    script: `
      import {spawn} from 'node:child_process';
      import {existsSync, writeFileSync} from 'node:fs';
      if (!existsSync(${JSON.stringify(started)})) {
        const {pid} = spawn('sleep', ['600'], {detached: true, stdio: ['ignore', 'ignore', 2, 3]});
        writeFileSync(${JSON.stringify(started)}, String(pid));
      }
      process.exit(1);`,
  });
  await expect(host.run(EXECUTION)).rejects.toMatchObject({code: 'session.worker_unavailable'});
  expect(ends).toEqual(['start', 'start']);
});

nightly.test('one that reads none of its messages is ended when they are too many', async () => {
  const {host, ends} = isolates({
    unreadBytesMax: 2 ** 24,
    // It shows that it lives, as one does that computes nothing.
    script: `import {writeSync} from 'node:fs';
      setInterval(() => { ${frame({type: 'alive'})} }, 50);`,
  });
  const args = JSON.stringify({text: 'x'.repeat(2 ** 20)});
  const told = host.runTogether(Array.from({length: 20}, () => ({...EXECUTION, args})));
  await expect(told).rejects.toMatchObject({code: 'session.worker_unavailable'});
  expect(ends).toEqual(['unread', 'unread']);
});

test('it is started by what ends it with its worker', async () => {
  const said = join(directory, 'said');
  const {host} = isolates({
    parentWatch: ['env', 'SAID=before'],
    script: `import {writeFileSync} from 'node:fs'; writeFileSync(${JSON.stringify(said)}, process.env.SAID ?? '');
      ${stays}`,
  });
  host.start();
  await until('it to start', () => existsSync(said) && readFileSync(said, 'utf8') === 'before');
});

/** Answers queries with their arguments, and ends with one that says so. */
const ANSWERS = `
  import {Socket} from 'node:net';
  const socket = new Socket({fd: 3});
  const say = (head, tail = '') => {
    const [json, bytes] = [Buffer.from(JSON.stringify(head)), Buffer.from(tail)];
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32LE(json.length + bytes.length, 0);
    prefix.writeUInt32LE(json.length, 4);
    socket.write(Buffer.concat([prefix, json, bytes]));
  };
  const facts = {outcome: {ok: true}, lines: [], identityUsed: false, isMomentary: false, readSet: null, endCursor: null,
    starved: null, sequence: 0};
  let held = Buffer.alloc(0);
  let args = [];
  say({type: 'ready'});
  socket.on('close', () => process.exit());
  socket.on('data', piece => {
    held = Buffer.concat([held, piece]);
    while (held.length >= 8 && held.length >= 8 + held.readUInt32LE(0)) {
      const [end, tailAt] = [8 + held.readUInt32LE(0), 8 + held.readUInt32LE(4)];
      const head = JSON.parse(held.toString('utf8', 8, tailAt));
      const tail = held.toString('utf8', tailAt, end);
      held = held.subarray(end);
      if (head.type === 'look') say({type: 'alive'});
      if (head.type !== 'queries') continue;
      let from = 0;
      for (const [number, [id, at, count]] of head.slots.entries()) {
        const chars = head.calls[number][1];
        args.push(tail.slice(from, from + chars));
        from += chars;
        if (args.length < count) continue;
        if (args.some(text => text.includes('bomb'))) process.exit(1);
        say({type: 'ran', runs: args.map((text, at) => [id, at, text.length, facts])}, args.join(''));
        args = [];
      }
    }
  });`;

test('what ends a process beside others in one snapshot is found, and the others are never refused for it', async () => {
  const {host} = isolates({script: ANSWERS});
  const honest = {...EXECUTION, path: 'a:honest', args: '{}'};
  const bomb = {...EXECUTION, path: 'a:bomb', args: '{"is":"bomb"}'};
  let code = '';
  for (let round = 0; round < 6 && code !== 'op.quarantined'; round++) {
    code = await host.runTogether([honest, bomb]).then(
      () => 'answered',
      (error: ServiceError) => error.code,
    );
  }
  expect(code).toBe('op.quarantined');
  await expect(host.run(bomb)).rejects.toMatchObject({code: 'op.quarantined'});
  expect(await host.run(honest)).toMatchObject({outcome: {ok: true, value: '{}'}});
});
