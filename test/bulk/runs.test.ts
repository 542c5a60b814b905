/** What imports and tasks do between commits, on a real file with a disk that is as slow as a test wants it. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, beforeEach, expect, onTestFinished, test, vi} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {TaskBody} from '../../shared/protocol/tasks.ts';
import {BulkRecords} from '../../worker/api/bulk/bulk-records.ts';
import {type ImportLine, lineOf} from '../../worker/api/bulk/import/import-line.ts';
import {ImportRun} from '../../worker/api/bulk/import/import-run.ts';
import {Tasks} from '../../worker/api/bulk/tasks/tasks.ts';
import {TASK_BYTES_MAX, TASKS_KEPT_MAX} from '../../worker/api/limits.ts';
import {until} from '../harness/until.ts';

const log = createLogger({});
const target = {table: 't', mode: 'own_ids'} as const;
const linesOf = (ids: string[], first: number): ImportLine[] =>
  ids.map((_id, i) => lineOf(first + i, 20, target, {_id, n: i}));

let directory: string;
let db: Connection;
let groups: CommitGroups;
/** Syncs that have not ended; null: each ends at once. */
let held: (() => void)[] | null;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-bulk-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  held = null;
  groups = new CommitGroups({
    writer: new Writer(db, Catalog.read(db), Date.now),
    metrics: new WorkerMetrics(),
    log,
    stages: [],
    sync: done => (held === null ? setImmediate(() => done(null)) : held.push(() => done(null))),
  });
});
afterEach(async () => {
  await groups.close();
  db.close();
  rmSync(directory, {recursive: true});
});

const noDrop = {drop: () => Promise.reject(new Error('nothing is dropped'))};

test('an import that a line stops is answered when the lines before it are on disk, and counts them', async () => {
  held = [];
  const ids = Array.from({length: 1_000}, (_, i) => `line-${i}`);
  ids[500] = 'line-0';
  const chunks = async function* () {
    yield linesOf(ids, 1);
    await until('the commit to wait for its disk', () => held!.length > 0);
    yield (function* () {
      setImmediate(() => held!.pop()!());
      yield* linesOf(['later'], 1_001);
    })();
  };
  const run = new ImportRun(groups, {stopsAtErrors: true, cause: {kind: 'import'}, store: () => undefined});
  const error: unknown = await run.take(chunks()).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ServiceError);
  expect((error as ServiceError).detail).toMatchObject({line: 501, import: {lines: 500, inserted: 500}});
});

test('a task whose record is damaged holds up no other, and stays', async () => {
  const background = new BackgroundWrites(groups, log, (_, error) => {
    throw error;
  });
  const tasks = new Tasks(db, background, noDrop, () => Promise.resolve('{"data":[],"next_cursor":null}'));
  const body: TaskBody = {type: 'delete', query: {table: 't', filters: []}};
  const broken = await groups.perform(tasks.made(body));
  const sound = await groups.perform(tasks.made(body));
  db.prepare(`UPDATE bulk_records SET record = replace(record, '"to":0', '"to":9') WHERE id = ?`).run(broken);
  tasks.wake();
  await until('the other to end', () => tasks.get(db, sound).state === 'completed');
  await nextTurn();
  expect(tasks.hasWork).toBe(false);
  expect(() => tasks.get(db, broken)).toThrow(expect.objectContaining({code: 'op.storage_damaged'}));
});

test('a slice reads the record of its own task, however many there are', async () => {
  const background = new BackgroundWrites(groups, log, (_, error) => {
    throw error;
  });
  let pages = 0;
  const page = async () => JSON.stringify({data: [], next_cursor: ++pages % 5 === 0 ? null : String(pages)});
  const tasks = new Tasks(db, background, noDrop, page);
  const body: TaskBody = {type: 'delete', query: {table: 't', filters: []}};
  const ids = [await groups.perform(tasks.made(body)), await groups.perform(tasks.made(body))];
  const all = vi.spyOn(BulkRecords.prototype, 'all');
  onTestFinished(() => all.mockRestore());
  tasks.wake();
  await until('both to end', () => ids.every(id => tasks.get(db, id).state === 'completed'));
  expect([pages, all.mock.calls.length, tasks.hasWork]).toEqual([10, 0, false]);
});

test('a new task takes the place of the oldest that ended, without reading the others; a damaged one stays', async () => {
  const background = new BackgroundWrites(groups, log, () => undefined);
  const tasks = new Tasks(db, background, noDrop, () => Promise.reject(new Error('nothing runs')));
  const make = () => groups.perform(tasks.made({type: 'delete', query: {table: 't', filters: []}}));
  const ids: string[] = [];
  for (let n = 0; n < TASKS_KEPT_MAX; n++) {
    ids.push(await make());
    await groups.perform(tasks.cancelled(ids[n]!));
  }
  db.prepare(`UPDATE bulk_records SET record = replace(record, '"to":0', '"to":9') WHERE id = ?`).run(ids[0]);
  const [all, get] = [vi.spyOn(BulkRecords.prototype, 'all'), vi.spyOn(BulkRecords.prototype, 'get')];
  onTestFinished(() => {
    for (const spy of [all, get]) spy.mockRestore();
  });
  const newest = await make();
  expect([all.mock.calls.length, get.mock.calls.length]).toEqual([0, 2]);
  const {tasks: kept, damaged} = tasks.list(db, {limit: null, after: null});
  expect(kept.map(({id}) => id).sort()).toEqual([...ids.slice(2), newest].sort());
  expect(damaged).toEqual([ids[0]]);
});

test('no task is made, and none forgotten, while it cannot be read which ones run', async () => {
  const background = new BackgroundWrites(groups, log, () => undefined);
  const newTasks = () => new Tasks(db, background, noDrop, () => Promise.reject(new Error('nothing runs')));
  const make = (tasks: Tasks) => groups.perform(tasks.made({type: 'delete', query: {table: 't', filters: []}}));
  const first = newTasks();
  const running = await make(first);
  for (let n = 1; n < TASKS_KEPT_MAX; n++) await groups.perform(first.cancelled(await make(first)));
  const all = vi.spyOn(BulkRecords.prototype, 'all').mockImplementation(() => {
    throw new ServiceError('op.storage_damaged', 'a page is broken');
  });
  onTestFinished(() => all.mockRestore());
  const next = newTasks();
  await expect(make(next)).rejects.toMatchObject({code: 'op.storage_damaged'});
  expect(next.get(db, running)).toMatchObject({state: 'running'});
  all.mockRestore();
  expect(await make(next)).toEqual(expect.any(String));
  expect(next.get(db, running)).toMatchObject({state: 'running'});
});

test('tasks are listed whole or in pages, the newest first, damaged ones by id', async () => {
  const background = new BackgroundWrites(groups, log, () => undefined);
  const tasks = new Tasks(db, background, noDrop, () => Promise.reject(new Error('nothing runs')));
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.push(await groups.perform(tasks.made({type: 'delete', query: {table: 't', filters: []}})));
  }
  ids.sort().reverse();
  db.prepare(`UPDATE bulk_records SET record = replace(record, '"to":0', '"to":9') WHERE id = ?`).run(ids[1]);
  const sound = ids.filter(id => id !== ids[1]);
  const list = (limit: number | null, after: string | null) => {
    const {tasks: shown, ...rest} = tasks.list(db, {limit, after});
    return {ids: shown.map(({id}) => id), ...rest};
  };
  expect(list(null, null)).toEqual({ids: sound, damaged: [ids[1]]});
  expect(list(2, null)).toEqual({ids: [ids[0]], damaged: [ids[1]], next_cursor: ids[1]});
  expect(list(2, ids[1]!)).toEqual({ids: [ids[2], ids[3]], next_cursor: ids[3]});
  expect(list(2, ids[3]!)).toEqual({ids: [ids[4]], next_cursor: null});
  expect(() => list(2, 'x')).toThrow(expect.objectContaining({code: 'op.invalid_input'}));
});

test('a task whose cancellation is taken back goes on, also when nobody was seen to run meanwhile', async () => {
  const background = new BackgroundWrites(groups, log, (_, error) => {
    throw error;
  });
  const tasks = new Tasks(db, background, noDrop, () => Promise.resolve('{"data":[],"next_cursor":null}'));
  const id = await groups.perform(tasks.made({type: 'delete', query: {table: 't', filters: []}}));
  const refused = groups.perform(writer => {
    tasks.cancelled(id)(writer);
    tasks.wake();
    throw new ServiceError('session.storage_full', 'nothing of it is written');
  });
  await expect(refused).rejects.toMatchObject({code: 'session.storage_full'});
  await until('it to end', () => tasks.get(db, id).state === 'completed');
});

test('a task that would be written again and again with much is refused', () => {
  const background = new BackgroundWrites(groups, log, () => undefined);
  const tasks = new Tasks(db, background, noDrop, () => Promise.reject(new Error('nothing runs')));
  const patch = {text: 'x'.repeat(TASK_BYTES_MAX)};
  expect(() => tasks.made({type: 'patch', query: {table: 't', filters: []}, patch})).toThrow(
    expect.objectContaining({code: 'op.too_large'}),
  );
});
