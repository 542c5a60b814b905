import {once} from 'node:events';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {BroadcastChannel} from 'node:worker_threads';
import {afterAll, expect, test} from 'vitest';
import type {Execution} from '../../../worker/runtime/execution.ts';
import {ProcessMemory} from '../../../worker/runtime/process-memory.ts';
import {PROGRESS_TAKEN} from '../../../worker/runtime/queries/query-batch.ts';
import {QueryPool} from '../../../worker/runtime/queries/query-pool.ts';
import {until} from '../../harness/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-query-pool-'));
afterAll(() => rmSync(directory, {recursive: true}));

const EXECUTION: Execution = {
  deployment: {id: 1, timestampMs: 0, seed: ''},
  path: '',
  module: 'm',
  name: 'f',
  paginated: false,
  args: '{}',
  caller: {identity: null},
  env: {},
  nowMs: 0,
  seed: '',
  endCursor: null,
};

/** Makes a thread of an `answer` to each task. */
const ANSWERING = `
import {parentPort} from 'node:worker_threads';
parentPort.on('message', task => parentPort.postMessage({result: answer(task)}));
`;

/** Breaks in the query `slow`, once the others of its batch have been taken from it; answers all others. */
const BREAKING = `${ANSWERING}
import {workerData} from 'node:worker_threads';
function answer({executions: {functions, calls}, slot}) {
  const {progress} = workerData;
  return calls.map(([called]) => {
    const {path} = functions[called];
    Atomics.add(progress, slot, 1);
    while (path === 'slow' && Atomics.load(progress, slot) < ${PROGRESS_TAKEN});
    if (path === 'slow') throw new Error('the thread broke');
    return ['{}', path];
  });
}`;

test('a query whose thread breaks after its batch was taken from it gets an error, and the others are answered', async () => {
  const file = join(directory, 'breaking.mjs');
  writeFileSync(file, BREAKING);
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined, file);
  const run = (path: string) => pool.run({...EXECUTION, path});
  const outcomes = await Promise.allSettled(['slow', 'next', 'last'].map(run));
  expect(outcomes).toEqual([
    {status: 'rejected', reason: expect.objectContaining({message: 'the thread broke'})},
    {status: 'fulfilled', value: ['{}', 'next']},
    {status: 'fulfilled', value: ['{}', 'last']},
  ]);
  await pool.close();
});

/** Answers everything, and tells a channel when it is to rest. */
const RESTING = `${ANSWERING}
import {BroadcastChannel} from 'node:worker_threads';
const told = new BroadcastChannel('svc-query-pool-rests');
function answer(task) {
  if (task.executions !== undefined) return [['{}', task.executions.functions[0].path]];
  told.postMessage('rests');
  return [];
}`;

test('a thread without work gives its isolates back before it is ended, each time', async () => {
  const file = join(directory, 'resting.mjs');
  writeFileSync(file, RESTING);
  const channel = new BroadcastChannel('svc-query-pool-rests');
  let rested = (): void => undefined;
  channel.onmessage = () => rested();
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined, file, 20);
  for (const path of ['first', 'again']) {
    const rests = new Promise<void>(resolve => (rested = resolve));
    expect(await pool.run({...EXECUTION, path})).toEqual(['{}', path]);
    await rests;
  }
  channel.close();
  await pool.close();
});

/** Answers with the number of its thread, which the query `end` ends. */
const NUMBERED = `${ANSWERING}
import {threadId} from 'node:worker_threads';
function answer(task) {
  if (task.executions?.functions[0].path === 'end') process.exit(3);
  return [['{}', String(threadId)]];
}`;

test('a thread without work ends, and so can one that has work: the next query has another one', async () => {
  const file = join(directory, 'numbered.mjs');
  writeFileSync(file, NUMBERED);
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined, file, 20);
  let ended = Promise.resolve<unknown>(null);
  process.once('worker', worker => (ended = once(worker, 'exit')));
  const numbers = [await pool.run({...EXECUTION, path: 'first'})];
  await ended;
  numbers.push(await pool.run({...EXECUTION, path: 'second'}));
  await expect(pool.run({...EXECUTION, path: 'end'})).rejects.toThrow('the thread ended with 3');
  numbers.push(await pool.run({...EXECUTION, path: 'third'}));
  expect(new Set(numbers.map(([, number]) => number)).size).toBe(3);
  await pool.close();
});

test('a pool is closed when a thread that is giving its isolates back has done so', async () => {
  const [file, begun, go, done] = ['slow-rest.mjs', 'begun', 'go', 'done'].map(name => join(directory, name)) as [
    string,
    string,
    string,
    string,
  ];
  writeFileSync(
    file,
    `${ANSWERING}
    import {existsSync, writeFileSync} from 'node:fs';
    function answer(task) {
      if (task.executions !== undefined) return [['{}', task.executions.functions[0].path]];
      writeFileSync(${JSON.stringify(begun)}, '');
      while (!existsSync(${JSON.stringify(go)}));
      writeFileSync(${JSON.stringify(done)}, '');
      return [];
    }`,
  );
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined, file, 20);
  await pool.run({...EXECUTION, path: 'first'});
  await until('its rest', () => existsSync(begun));
  const closed = pool.close();
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  writeFileSync(go, '');
  await closed;
  expect(existsSync(done)).toBe(true);
});

/** Answers a query with the tasks that came before it. */
const WARMED = `${ANSWERING}
const before = [];
function answer(task) {
  if (task.executions !== undefined) return [['{}', before.join()]];
  before.push(task.databasePath ?? task);
  return [];
}`;

test('a pool that is warmed has a thread with an isolate before the first query', async () => {
  const file = join(directory, 'warmed.mjs');
  writeFileSync(file, WARMED);
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined, file);
  void pool.warm();
  void pool.warm();
  expect(await pool.run({...EXECUTION, path: 'first'})).toEqual(['{}', 'warm']);
  await pool.close();
});

test('one that is warmed without a file opens it in the same thread, before the first query', async () => {
  const file = join(directory, 'opened-later.mjs');
  writeFileSync(file, WARMED);
  const pool = new QueryPool(null, new ProcessMemory(), () => undefined, file);
  await pool.warm();
  pool.open('a file');
  expect(await pool.run({...EXECUTION, path: 'first'})).toEqual(['{}', 'warm,a file']);
  await pool.close();
});

test('no queries at all are run in one snapshot as well', async () => {
  const pool = new QueryPool(join(directory, 'none.sqlite'), new ProcessMemory(), () => undefined);
  expect(await pool.runTogether([])).toEqual([]);
  await nextTurn();
  await pool.close();
});
