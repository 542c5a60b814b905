/** Whose journal goes on, and whose begins a new timeline, at the open of a file by a host of a cluster. */
import {afterAll, expect, test} from 'vitest';
import {beginJournal, endJournal, journalTimeline} from '../../engine/storage/journal-timeline.ts';
import {metaRow, SET_META} from '../../engine/storage/meta.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const parts = new TenantParts();
afterAll(() => parts.close());
const db = parts.writerDb;

const own = {host: 'a', isLocal: true, isWhole: true};
const copy = {host: 'b', isLocal: true, isWhole: false};

/** @returns whether the timeline is another one after it */
function changes(act: () => void): boolean {
  const before = journalTimeline(db);
  act();
  return journalTimeline(db) !== before;
}

test.each([
  ['the same host has its own file', [own, own], false],
  ['another host has a copy, and nothing was closed', [own, copy], true],
  ['the same host has lost its file', [own, {...own, isWhole: false}], true],
  [
    'another host, whose process ended before it said so, has made the copy its own',
    [own, {...copy, isWhole: true}],
    true,
  ],
  ['another host has a copy, and it was closed in order', [own, 'closed', copy], false],
  ['another host opens it that waits for the log', [own, {...copy, isLocal: false}], true],
  [
    'hosts wait for the log',
    [
      {...own, isLocal: false},
      {...copy, isLocal: false},
    ],
    false,
  ],
] as const)('%s', (_, steps, isNew) => {
  beginJournal(db, {...own, isLocal: false});
  const [first, ...rest] = steps;
  expect(changes(() => beginJournal(db, first))).toBe(false);
  const between = () => {
    for (const step of rest) {
      if (step === 'closed') endJournal(db);
      else beginJournal(db, step);
    }
  };
  expect(changes(between)).toBe(isNew);
});

test('nothing is written where no host is ahead of the log', () => {
  beginJournal(db, {...own, isLocal: false});
  const written = db.pragma('data_version', {simple: true});
  const changesBefore = db.prepare('SELECT total_changes()').pluck().get();
  beginJournal(db, {...copy, isLocal: false});
  endJournal(db);
  expect(db.prepare('SELECT total_changes()').pluck().get()).toBe(changesBefore);
  expect(db.pragma('data_version', {simple: true})).toBe(written);
});

test('a file that gets another timeline has that one as its journal', () => {
  beginJournal(db, own);
  beginJournal(db, copy);
  const timeline = 'f'.repeat(32);
  db.prepare(SET_META).run(...metaRow('tenant_timeline', timeline));
  expect(journalTimeline(db)).toBe(timeline);
  expect(changes(() => beginJournal(db, {...own, isWhole: false}))).toBe(false);
});
