import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, onTestFinished, test} from 'vitest';
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import type {RefusalPage} from '../../shared/protocol/audit.ts';
import {RefusalLog} from '../../supervisor/keys/refusal-log.ts';
import {REFUSAL_RECORDS_PER_MINUTE_MAX} from '../../supervisor/limits.ts';
import {SmallDisk} from '../harness/small-disk.ts';

let folder: string;
let path: string;
let nowMs: number;
let unrecorded: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-refusals-'));
  path = join(folder, 'refusals.sqlite');
  nowMs = 60_000;
  unrecorded = 0;
});
afterEach(() => rmSync(folder, {recursive: true}));

const REFUSED: RefusedRequest = {
  ...{operation: 'env.set', tenant: 'acme', code: 'auth.forbidden', key: 'k', key_name: 'ops', shown: null},
  ...{address: '::1', request_id: 'r', count: 1},
};
const STRANGER = {...REFUSED, key: null, key_name: null, shown: 'other'};
const silent = {error: () => undefined, warn: () => undefined} as never;

function open(at = path): RefusalLog {
  const log = new RefusalLog(
    at,
    () => nowMs,
    silent,
    count => {
      unrecorded += count;
    },
  );
  onTestFinished(() => log.close());
  return log;
}

const recordsIn = (log: RefusalLog) => (JSON.parse(log.page(null, 1_000)) as RefusalPage).records.slice(1);

test('so many records a minute are kept, of keys and of strangers apart, and the rest is counted', () => {
  const log = open();
  for (let i = 0; i < 3 * REFUSAL_RECORDS_PER_MINUTE_MAX; i++) log.add({...STRANGER, count: 2});
  log.add(REFUSED);
  expect(recordsIn(log)).toHaveLength(REFUSAL_RECORDS_PER_MINUTE_MAX + 1);
  expect(recordsIn(log).at(-1)).toMatchObject({kind: 'refused', at: 60_000, ...REFUSED});
  expect(unrecorded).toBe(2 * 2 * REFUSAL_RECORDS_PER_MINUTE_MAX);
  nowMs += 60_000;
  log.add(STRANGER);
  nowMs -= 120_000; // the clock was set back
  log.add(STRANGER);
  expect(recordsIn(log)).toHaveLength(REFUSAL_RECORDS_PER_MINUTE_MAX + 3);
  log.close();
  expect(recordsIn(open())).toHaveLength(REFUSAL_RECORDS_PER_MINUTE_MAX + 3);
});

test('nothing fails where its file is damaged or the disk is full: refusals are counted', context => {
  writeFileSync(path, 'nonsense'.repeat(1_000));
  const fresh = open();
  expect(readdirSync(folder).filter(name => name.startsWith('refusals.sqlite.'))).toHaveLength(1);
  fresh.add(REFUSED);
  expect(recordsIn(fresh)).toHaveLength(1);

  const disk = new SmallDisk(8);
  onTestFinished(() => disk.remove());
  if (!disk.isMounted) context.skip();
  disk.fill();
  const none = open(join(disk.path, 'none.sqlite'));
  none.add({...REFUSED, count: 5});
  expect(() => none.page(null, 1)).toThrow(expect.objectContaining({code: 'op.storage_damaged'}));
  expect(unrecorded).toBe(5);
  unrecorded = 0;
  disk.makeSpace();
  const log = open(join(disk.path, 'refusals.sqlite'));
  disk.fill();
  const long = {...REFUSED, request_id: 'x'.repeat(10_000)};
  for (let minutes = 0; unrecorded === 0 && minutes < 1_000; minutes++) {
    nowMs += 60_000;
    for (let i = 0; i < REFUSAL_RECORDS_PER_MINUTE_MAX; i++) log.add(long);
    log.page(null, 1);
  }
  expect(unrecorded).toBe(REFUSAL_RECORDS_PER_MINUTE_MAX);
  disk.makeSpace();
  nowMs += 60_000;
  log.add({...REFUSED, request_id: 'again'});
  const {latest_sequence: last} = JSON.parse(log.page(null, 1)) as RefusalPage;
  expect(JSON.parse(log.page(last - 1, 1))).toMatchObject({records: [{request_id: 'again'}]});
  log.close();
});
