/** Writes that no request waits for, on a real file and real commit groups. Timers are driven by hand. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {BACKGROUND_RETRY_MS, WRITE_QUEUE_MAX} from '../../engine/limits.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';

const PAGES_MAX = 1_073_741_823;

let directory: string;
let db: Connection;
let groups: CommitGroups;
let background: BackgroundWrites;
let lines: string[];
let failures: {kind: string; error: unknown}[];
beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  directory = mkdtempSync(join(tmpdir(), 'svc-background-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  lines = [];
  failures = [];
  const log = createLogger({}, {write: line => void lines.push(String(line))});
  const writer = new Writer(db, Catalog.read(db), Date.now);
  groups = new CommitGroups({writer, metrics: new WorkerMetrics(), log, stages: [], sync: promptSync});
  background = new BackgroundWrites(groups, log, (kind, error) => failures.push({kind, error}));
});
afterEach(() => {
  vi.useRealTimers();
  background.stop();
  db.close();
  rmSync(directory, {recursive: true});
});

function fillDisk(): void {
  db.pragma(`max_page_count = ${db.pragma('page_count', {simple: true}) as number}`);
}

function makeSpace(): void {
  db.pragma(`max_page_count = ${PAGES_MAX}`);
}

/** A large document; returns its id. */
function insert(writer: Writer): string {
  const text = 'x'.repeat(100_000);
  return writer.insert(writer.table('t'), {text}, JSON.stringify({text}));
}

async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve));
}

function said(what: string): number {
  return lines.filter(line => line.includes(what)).length;
}

const documents = () => db.prepare('SELECT count(*) FROM documents').pluck().get();

describe('a background write', () => {
  test('is parked while the disk is full, says so once, and goes on when there is space', async () => {
    fillDisk();
    const parked = vi.fn();
    const written = background.perform('a clean-up', insert, parked);
    await turns();
    expect(parked).toHaveBeenCalledTimes(1);
    expect(background.isParked('a clean-up')).toBe(true);
    for (let n = 0; n < 3; n++) {
      vi.advanceTimersByTime(BACKGROUND_RETRY_MS);
      await turns();
    }
    expect(parked).toHaveBeenCalledTimes(4);
    expect(said('a clean-up is put off')).toBe(1);
    makeSpace();
    vi.advanceTimersByTime(BACKGROUND_RETRY_MS);
    expect(await written).toEqual(expect.any(String));
    expect(background.isParked('a clean-up')).toBe(false);
    expect(said('a clean-up goes on')).toBe(1);
    expect(documents()).toBe(1);
    expect(failures).toEqual([]);
  });

  test('is parked while the queue is full', async () => {
    const behind: Promise<unknown>[] = [];
    for (let n = 0; n < WRITE_QUEUE_MAX; n++) behind.push(groups.perform(() => undefined));
    const written = background.perform('a clean-up', () => 'done');
    await turns(1);
    expect(background.isParked('a clean-up')).toBe(true);
    await Promise.all(behind);
    vi.advanceTimersByTime(BACKGROUND_RETRY_MS);
    expect(await written).toBe('done');
  });

  test.each<[string, Error]>([
    ['another error of the service', new ServiceError('op.not_found', 'there is none')],
    ['a bug', new TypeError('of undefined')],
  ])('that fails with %s ends the process', async (_, error) => {
    void background.perform('a clean-up', () => {
      throw error;
    });
    await turns();
    expect(failures).toEqual([{kind: 'a clean-up', error: expect.any(ServiceError)}]);
    expect(background.isParked('a clean-up')).toBe(false);
  });

  test('is not tried again once the tenant is being closed', async () => {
    fillDisk();
    const change = vi.fn(insert);
    void background.perform('a clean-up', change);
    await turns();
    background.stop();
    makeSpace();
    vi.advanceTimersByTime(10 * BACKGROUND_RETRY_MS);
    await turns();
    expect(change).toHaveBeenCalledTimes(1);
    expect(documents()).toBe(0);
  });
});
