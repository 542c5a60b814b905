/** The write-ahead log of a tenant whose scans always overlap: each one goes on until another has begun. */
import {mkdtempSync, readFileSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {BroadcastChannel} from 'node:worker_threads';
import {afterAll, expect, test} from 'vitest';
import {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {WAL_PAGES_MAX} from '../../engine/limits.ts';
import {ScanPool} from '../../engine/reads/scan-pool.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';

const PAGE_BYTES = 4096;

const directory = mkdtempSync(join(tmpdir(), 'svc-wal-'));
const path = join(directory, 'tenant.sqlite');
const wal = `${path}-wal`;
const db = openWriter(path);
const threadFile = fileURLToPath(new URL('./overlapping-scans.cjs', import.meta.url));
const failures: unknown[] = [];
const pool = new ScanPool(path, error => failures.push(error), threadFile);
const writer = new Writer(db, Catalog.read(db), Date.now);
const log = createLogger({process: 'worker'});
const threads = new BroadcastChannel('overlapping-scans');
let isPaused = false;
let isOver = false;
const scans = {
  pause: (whenNoneRuns: () => Promise<void>) => {
    isPaused = true;
    pool.pause(whenNoneRuns);
  },
};
const groups = new CommitGroups({writer, metrics: new WorkerMetrics(), log, stages: [], sync: promptSync, scans});
afterAll(async () => {
  isOver = true;
  await groups.close();
  await pool.close();
  threads.close();
  db.close();
  rmSync(directory, {recursive: true});
});

/** Counts how often the log has begun anew: it stands in its header. */
const rounds = () => readFileSync(wal).readUInt32BE(12);

test('begins anew once it is long, though a scan always runs', async () => {
  let answers = 0;
  const scan = () => {
    if (isOver) return;
    pool.run({kind: 'list', table: 't'}, () => {
      answers++;
      scan();
    });
  };
  for (let n = 0; n < 4; n++) scan();
  const text = 'x'.repeat(500_000);
  const write = () => groups.perform(own => insertEffect('t', {text})(own));
  while (answers < 4) await write();
  const before = rounds();
  while (rounds() === before) {
    expect(statSync(wal).size).toBeLessThan(4 * WAL_PAGES_MAX * PAGE_BYTES);
    await write();
    // What runs may end now without another one: also what had not begun when this was said the last time.
    if (isPaused) threads.postMessage('let go');
  }
  const answered = answers;
  while (answers < answered + 4) await write(); // the scans go on
  expect(failures).toEqual([]);
}, 60_000);
