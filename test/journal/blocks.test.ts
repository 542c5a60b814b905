/** Summaries of the journal's blocks: a search with them finds what a search without them finds. */
import {afterEach, beforeEach, expect, test} from 'vitest';
import {insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {BlockSummary} from '../../engine/journal/block-summary.ts';
import {JournalBlocks} from '../../engine/journal/blocks.ts';
import {JournalReader} from '../../engine/journal/read-page.ts';
import {JournalRetention} from '../../engine/journal/retention.ts';
import {JournalSearch, parseJournalFilter} from '../../engine/journal/search.ts';
import {JournalTimes} from '../../engine/journal/times.ts';
import {JOURNAL_BLOCK_RECORDS} from '../../engine/limits.ts';
import type {JournalPage, JournalRecord} from '../../shared/protocol/journal.ts';
import type {JournalCounts} from '../../shared/protocol/journal-counts.ts';
import {TenantParts} from '../harness/tenant-parts.ts';
import {until} from '../harness/until.ts';

const RECORDS = 3 * JOURNAL_BLOCK_RECORDS + 50;
const RARE = JOURNAL_BLOCK_RECORDS + 7;
const NOTHING = {table: null, document: null, kind: null, requestId: null};

let parts: TenantParts;
let blocks: JournalBlocks;
let search: JournalSearch;
beforeEach(() => {
  parts = new TenantParts();
  for (let n = 1; n <= RECORDS; n++) {
    parts.writer.cause = {kind: 'api', request_id: `request-${n}`};
    if (n === RARE) parts.write(insertEffect('rare', {n}, 'one'));
    else if (n === RARE + 1) parts.write(patchEffect('rare', 'one', {patch: {n}}));
    else parts.write(insertEffect(`t${n % 3}`, {n, text: '"rare" request-300'}));
  }
  open();
});
afterEach(() => {
  blocks.stop();
  parts.close();
});

function open(): void {
  const {readerDb, reader} = parts;
  const journal = new JournalReader(readerDb);
  const times = new JournalTimes(readerDb, journal);
  blocks = new JournalBlocks(readerDb, journal, times, () => reader.inSnapshot());
  search = new JournalSearch(readerDb, journal, times, blocks);
}

function found(query: string, order: 'asc' | 'desc'): JournalRecord[] {
  const records: JournalRecord[] = [];
  for (let after: number | null = null, before = ''; ; ) {
    const filter = parseJournalFilter(`${query}&order=${order}${before}`)!;
    const page = JSON.parse(search.page({after, limit: 100, timeline: null}, filter)) as JournalPage;
    records.push(...page.records);
    if (!page.has_more) return order === 'asc' ? records : records.reverse();
    if (order === 'asc') after = page.next_cursor;
    else before = `&before=${page.next_cursor}`;
  }
}

const sequences = (query: string, order: 'asc' | 'desc' = 'asc') => found(query, order).map(({sequence}) => sequence);

/** All blocks that are complete have a summary then: one of nothing passes no filter. */
function summarized(first = 1): Promise<unknown> {
  return until('the summaries', () => (blocks.mayPass(first, {...NOTHING, table: 'never'}) ? null : true));
}

function counts(request: Partial<Parameters<JournalBlocks['count']>[0]> = {}): Promise<JournalCounts> {
  return until('complete counts', () => {
    const answer = blocks.count({from: null, to: null, buckets: 60, ...request});
    return answer.complete ? answer : null;
  });
}

test('a search finds the same with summaries as without, in both orders', async () => {
  const queries = ['table=rare', 'document=one', 'kind=update', 'table=t1', 'kind=delete', 'document=none'];
  const others = ['request_id=request-300', `request_id=request-${RECORDS}`, 'table=rare&kind=update', 'table=t2&to=1'];
  const all = [...queries, ...others];
  const before = all.map(query => [sequences(query), sequences(query, 'desc')]);
  expect(before.slice(0, 3)).toEqual([
    [
      [RARE, RARE + 1],
      [RARE, RARE + 1],
    ],
    [
      [RARE, RARE + 1],
      [RARE, RARE + 1],
    ],
    [[RARE + 1], [RARE + 1]],
  ]);
  await summarized();
  expect(all.map(query => [sequences(query), sequences(query, 'desc')])).toEqual(before);
  // Only the block of the rare one is read.
  const pass = [0, 1, 2].map(block => blocks.mayPass(block * JOURNAL_BLOCK_RECORDS + 1, {...NOTHING, document: 'one'}));
  expect(pass).toEqual([false, true, false]);
});

test('records that are written later, and a floor that rises, change what is found', async () => {
  sequences('table=rare');
  await summarized();
  for (let n = 0; n < JOURNAL_BLOCK_RECORDS; n++) parts.write(insertEffect('later', {n}));
  expect(sequences('table=later')).toHaveLength(JOURNAL_BLOCK_RECORDS);
  const retention = new JournalRetention(parts.writer, 400);
  parts.write(writer => retention.trim(writer));
  const {floor} = retention;
  expect(sequences('table=t1').every(sequence => sequence >= floor)).toBe(true);
  const {buckets} = await counts();
  expect(total(buckets)).toBe(RECORDS + JOURNAL_BLOCK_RECORDS - floor + 1);
});

test('a damaged or missing record makes its block match everything', async () => {
  const {writerDb, reader} = parts;
  writerDb.prepare("UPDATE journal SET record = '{' WHERE sequence = 20").run();
  writerDb.prepare('DELETE FROM journal WHERE sequence = ?').run(JOURNAL_BLOCK_RECORDS * 2);
  reader.endSnapshot();
  expect(sequences('kind=delete')).toEqual([]);
  await summarized(1 + 2 * JOURNAL_BLOCK_RECORDS);
  await counts();
  for (const first of [1, 1 + JOURNAL_BLOCK_RECORDS]) {
    expect(blocks.mayPass(first, {...NOTHING, kind: 'cron', document: 'never'})).toBe(true);
  }
});

test('counts are those of the records, by time and kind', async () => {
  const all = found('from=0', 'asc');
  const [from, to] = [all[40]!.timestamp, all.at(-40)!.timestamp];
  const {buckets, bucket_ms: width, ...rest} = await counts({from, to, buckets: 7});
  expect(rest).toEqual({from, to, counted_from: from, complete: true});
  const naive = new Map<number, number>();
  for (const {timestamp} of all.slice(40, -39)) {
    const at = from + Math.floor((timestamp - from) / width) * width;
    naive.set(at, (naive.get(at) ?? 0) + 1);
  }
  expect(new Map(buckets.map(({at, records}) => [at, records]))).toEqual(naive);
  expect(buckets.length).toBeLessThanOrEqual(7);
  expect(buckets.reduce((sum, {kinds}) => sum + (kinds.update ?? 0), 0)).toBe(1);
  expect(await counts({to: 0})).toMatchObject({from: 0, to: 0, buckets: [], complete: true});
  const {buckets: one} = await counts({buckets: 1});
  expect(one).toEqual([{at: all[0]!.timestamp, records: RECORDS, kinds: {insert: RECORDS - 1, update: 1}}]);
});

test('an empty journal has no counts', () => {
  const empty = new TenantParts();
  const journal = new JournalReader(empty.readerDb);
  const none = new JournalBlocks(empty.readerDb, journal, new JournalTimes(empty.readerDb, journal), () => undefined);
  expect(none.count({from: null, to: null, buckets: 5})).toMatchObject({buckets: [], complete: true});
  empty.close();
});

test('a block with very many names matches every name, and still no kind that it lacks', () => {
  const summary = new BlockSummary(1, 1);
  for (let n = 0; n < JOURNAL_BLOCK_RECORDS; n++) {
    const writes = Array.from({length: 100}, (_, i) => ({op: 'insert', table: 't', id: `${n}-${i}`, document: null}));
    summary.add(JSON.stringify({timestamp: n, writes, events: []}));
  }
  expect(summary.mayPass({...NOTHING, document: 'never'})).toBe(true);
  expect(summary.mayPass({...NOTHING, kind: 'delete'})).toBe(false);
});

test('a block whose records are a day apart counts each on its day', () => {
  const summary = new BlockSummary(1, 1);
  const dayMs = 86_400_000;
  for (let n = 0; n < JOURNAL_BLOCK_RECORDS; n++) {
    summary.add(JSON.stringify({timestamp: (20_000 + n) * dayMs + 0.5, writes: [], events: []}));
  }
  const days: number[] = [];
  summary.count(
    1,
    ms => Math.floor(ms / dayMs),
    day => days.push(day),
  );
  expect(days).toEqual(Array.from({length: JOURNAL_BLOCK_RECORDS}, (_, n) => 20_000 + n));
});

function total(buckets: JournalCounts['buckets']): number {
  return buckets.reduce((sum, {records}) => sum + records, 0);
}
