/** When an `Idempotency-Key` is forgotten, on a real file. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {CommitGroups} from '../../engine/commit/group.ts';
import {keepReply, type OnceRequest, once, ownedKey} from '../../engine/commit/idempotency.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {IDEMPOTENCY_KEEP_MS} from '../../engine/limits.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';

let directory: string;
let db: Connection;
let groups: CommitGroups;
/** What the clock says, and how long the process lives. */
let clockMs: number;
let livedMs: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-once-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  [clockMs, livedMs] = [1_800_000_000_000, 5_000];
  vi.spyOn(performance, 'now').mockImplementation(() => livedMs);
  const writer = new Writer(db, Catalog.read(db), () => clockMs);
  groups = new CommitGroups({
    writer,
    metrics: new WorkerMetrics(),
    log: createLogger({}),
    stages: [],
    sync: promptSync,
  });
});
afterEach(async () => {
  await groups.close();
  db.close();
  rmSync(directory, {recursive: true});
  vi.restoreAllMocks();
});

const insert = insertEffect('t', {});
const made = (key: string) => {
  const request: OnceRequest = {key, request: 'the same'};
  return groups.perform(writer => once(writer, request, () => ({status: 201, body: insert(writer)})).body);
};

test('it is known for 24 hours, and not for longer', async () => {
  const first = await made('k');
  clockMs += IDEMPOTENCY_KEEP_MS;
  livedMs += IDEMPOTENCY_KEEP_MS;
  expect(await made('k')).toBe(first);
  clockMs += 1;
  livedMs += 1;
  expect(await made('k')).not.toBe(first);
});

test('a clock that is set forward under the process forgets none', async () => {
  const first = await made('k');
  clockMs += 2 * IDEMPOTENCY_KEEP_MS;
  livedMs += 1_000;
  await made('another'); // forgets what is too old
  expect(await made('k')).toBe(first);
});

test('one that an older version stored without its owner is found by every owner, and no other of theirs', async () => {
  const request = 'the same';
  await groups.perform(writer => keepReply(writer, {key: 'old', request}, {status: 201, body: 'first'}));
  for (const owner of [null, 'family', 'another']) expect(await made(ownedKey('old', owner))).toBe('first');
  await expect(
    groups.perform(writer =>
      once(writer, {key: ownedKey('old', 'family'), request: 'another'}, () => ({status: 201, body: ''})),
    ),
  ).rejects.toMatchObject({code: 'op.conflict'});
  const ids = await Promise.all([null, 'family', 'another'].map(owner => made(ownedKey('new', owner))));
  expect(new Set(ids).size).toBe(3);
  clockMs += IDEMPOTENCY_KEEP_MS + 1;
  livedMs += IDEMPOTENCY_KEEP_MS + 1;
  expect(await made(ownedKey('old', 'family'))).not.toBe('first');
});
