/** The checks of random histories find what they are for: each row is a history with one fault, or with none. */
import {expect, test} from 'vitest';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import type {Doc} from '../harness/tenant.ts';
import {violationsOf} from './history/checks.ts';
import {keyOf, Notes, type WriteOutcome} from './history/notes.ts';

type Begun = [marker: string, outcome: WriteOutcome, beganMs: number, endedMs: number];
/** @param seen markers of documents `a` and `b`; null: as they were made */
type Seen = [a: string | null, b: string | null, beganMs: number, endedMs: number];
type Case = {writes: Begun[]; reads?: Seen[]; journal?: string[]; runs?: string[]; finds: string | null};

const document = (id: string, last: string | null) =>
  ({_id: id, _creationTime: 1, _updateTime: 1, ...(last === null ? {} : {last})}) as Doc;

/** A record for each text: the document, and the write that changed it. */
function journalOf(texts: readonly string[], runs: readonly string[] = []): JournalRecord[] {
  return ['a', 'b', ...texts].map((text, i) => {
    const [id, last = null] = text.split(' ');
    const write = {table: 't', id: id!, op: last === null ? 'insert' : 'update', document: document(id!, last)};
    return {sequence: i + 1, writes: [write], scheduled_execution_id: runs[i - 2] ?? null} as unknown as JournalRecord;
  });
}

const one: Begun = ['w1', 'acknowledged', 10, 20];
const two: Begun = ['w2', 'acknowledged', 30, 40];

test.each<[string, Case]>([
  ['all is well', {writes: [one, two], reads: [['w1', 'w2', 50, 60]], journal: ['a w1', 'b w2'], finds: null}],
  ['an acknowledged write is gone', {writes: [one, two], journal: ['a w1'], finds: 'w2 .* is there 0 times'}],
  ['a write is there twice', {writes: [one], journal: ['a w1', 'a w1'], finds: 'w1 .* is there 2 times'}],
  [
    'an unknown write is there twice',
    {writes: [['w1', 'unknown', 10, Infinity]], journal: ['a w1', 'a w1'], finds: '2 times'},
  ],
  ['a refused write is there', {writes: [['w1', 'refused', 10, 20]], journal: ['a w1'], finds: '1 times'}],
  ['an unknown write is not there', {writes: [['w1', 'unknown', 10, Infinity]], finds: null}],
  ['there is a write that no client made', {writes: [], journal: ['a w9'], finds: 'w9 was never written'}],
  [
    'a job ran twice',
    {writes: [one, two], journal: ['a w1', 'b w2'], runs: ['j', 'j'], finds: 'j ran in 3 and again in 4'},
  ],
  ['a read misses a write', {writes: [one], reads: [[null, null, 21, 30]], journal: ['a w1'], finds: 'came after w1'}],
  ['a read may miss a write beside it', {writes: [one], reads: [[null, null, 15, 30]], journal: ['a w1'], finds: null}],
  [
    'a read goes back behind another one',
    {
      writes: [['w1', 'unknown', 10, Infinity]],
      reads: [
        ['w1', null, 12, 14],
        [null, null, 15, 30],
      ],
      journal: ['a w1'],
      finds: 'came after a read',
    },
  ],
  ['a read sees a later write', {writes: [one], reads: [['w1', null, 1, 9]], journal: ['a w1'], finds: 'saw w1'}],
  [
    'a read mixes two states',
    {
      writes: [one, two],
      reads: [[null, 'w2', 5, 60]],
      journal: ['a w1', 'b w2'],
      finds: 'no state that the tenant ever had',
    },
  ],
  [
    'writes are in another order than in time',
    {writes: [one, two], journal: ['b w2', 'a w1'], finds: 'came after|saw'},
  ],
])('%s', (_, {writes, reads = [], journal = [], runs = [], finds}) => {
  const notes = new Notes('acme');
  for (const [marker, outcome, beganMs, endedMs] of writes) {
    notes.writes.set(marker, {...{marker, outcome, beganMs, endedMs}, answers: [], isJob: false});
  }
  for (const [a, b, beganMs, endedMs] of reads) {
    const documents = new Map([
      [keyOf('t', 'a'), document('a', a)],
      [keyOf('t', 'b'), document('b', b)],
    ]);
    notes.reads.push({beganMs, endedMs, by: 'read', documents});
  }
  const found = violationsOf(notes, journalOf(journal, runs));
  if (finds === null) expect(found).toEqual([]);
  else expect(found.join('\n')).toMatch(new RegExp(finds));
});
