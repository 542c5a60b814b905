/** Sleeping tenants with due work are woken when the clock was set back, also while no server ran. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {Registry} from '../../supervisor/files/registry.ts';
import {DueTimer} from '../../supervisor/tenants/due-timer.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 1_800_000_000_000;
const directory = mkdtempSync(join(tmpdir(), 'svc-test-due-'));
const path = join(directory, 'registry.sqlite');
afterAll(() => rmSync(directory, {recursive: true}));

const first = new Registry(path);
first.create('cron', 1, NOW_MS - DAY_MS);
first.markAsleep('cron', NOW_MS + 2_000, NOW_MS);
first.create('idle', 2, NOW_MS - DAY_MS);
first.markAsleep('idle', null, NOW_MS);
first.close();

test.each([
  ['a day back', NOW_MS - DAY_MS, ['cron']],
  ['as it was', NOW_MS + 1_000, []],
  ['a second back', NOW_MS - 1_000, []],
])('a server that starts with the clock %s', (_, nowMs, woken) => {
  const registry = new Registry(path);
  const due: string[] = [];
  const timer = new DueTimer(
    registry,
    () => nowMs,
    id => due.push(id),
  );
  timer.start();
  timer.stop();
  registry.close();
  expect(due).toEqual(woken);
});
