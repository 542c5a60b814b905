/** A checkpoint waits for the capture of copies, for a moment: neither a write nor a scan ever waits for it. */
import Database from 'better-sqlite3';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {Checkpoints} from '../../engine/commit/checkpoints.ts';
import {
  CAPTURE_PAGES_MAX,
  CAPTURE_REQUEST_PAGES,
  CAPTURE_WAIT_MS,
  CAPTURE_WAIT_MS_MAX,
  CHECKPOINT_WAL_PAGES,
  WAL_PAGES_MAX,
} from '../../engine/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';

let db: Database.Database;
let calls: string[];
let isTaken: boolean;
let made: number;
let waits: number[];
let checkpoints: Checkpoints;
let whenNoneRuns: (() => Promise<void>) | null;

beforeEach(() => {
  calls = [];
  isTaken = true;
  made = 0;
  waits = [];
  whenNoneRuns = null;
  let walPages = 0;
  db = new Database(':memory:');
  const pragma = (text: string) => {
    calls.push(text);
    made++;
    return [{log: walPages}];
  };
  checkpoints = new Checkpoints({
    db: Object.assign(db, {pragma}),
    metrics: new WorkerMetrics(),
    log: createLogger({process: 'worker'}),
    copies: {
      request: () => calls.push('request'),
      isTaken: ms => {
        waits.push(ms);
        return isTaken;
      },
      giveUp: () => calls.push('give up'),
      whenDue: () => undefined,
      begin: () => calls.push('begin'),
    },
    scans: {
      pause: call => {
        whenNoneRuns = call;
      },
    },
    onDue: () => {
      walPages = 0;
    },
  });
  walPages = WAL_PAGES_MAX + 1;
});
afterEach(() => db.close());

/** A write of about so many pages. */
function write(pages: number): void {
  checkpoints.wrote(pages);
}

test('the capture is requested to take the log now and then, and the checkpoint is made when it has', () => {
  write(CAPTURE_REQUEST_PAGES - 1);
  expect(calls).toEqual([]);
  write(10);
  write(10);
  expect(calls).toEqual(['request']);
  write(CHECKPOINT_WAL_PAGES);
  expect(checkpoints.isDue).toBe(true);
  checkpoints.make();
  expect(calls).toEqual(['request', 'request', 'wal_checkpoint(PASSIVE)']);
  expect(checkpoints.isDue).toBe(false);
});

test('one that was not taken in time is put off, so that writes go on, and tried again a little later', () => {
  isTaken = false;
  write(CHECKPOINT_WAL_PAGES);
  checkpoints.make();
  expect({isDue: checkpoints.isDue, made}).toEqual({isDue: false, made: 0});
  write(300);
  expect(checkpoints.isDue).toBe(true);
  isTaken = true;
  checkpoints.make();
  expect({isDue: checkpoints.isDue, made}).toEqual({isDue: false, made: 1});
});

test('scans that were paused for it go on when it is put off', async () => {
  write(CHECKPOINT_WAL_PAGES);
  checkpoints.make();
  isTaken = false;
  const resumed = whenNoneRuns!();
  checkpoints.make();
  await resumed;
  expect({isDue: checkpoints.isDue, made}).toEqual({isDue: false, made: 1});
});

test('copies are given up before the log of a capture that is stuck grows without bound', () => {
  isTaken = false;
  for (let pages = 600; pages < CAPTURE_PAGES_MAX; pages += 300) {
    write(300);
    if (checkpoints.isDue) checkpoints.make();
  }
  expect(calls).not.toContain('give up');
  expect([Math.round(waits[0]!), waits.at(-1)]).toEqual([CAPTURE_WAIT_MS, CAPTURE_WAIT_MS_MAX]);
  write(900);
  checkpoints.make();
  expect(calls.slice(-2)).toEqual(['give up', 'wal_checkpoint(PASSIVE)']);
});
