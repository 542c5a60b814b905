/** The journal by document, table, kind and time, in both orders. */
import {beforeAll, describe, expect, test} from 'vitest';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {journalAfter, journalPage} from '../harness/journal.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
let all: JournalRecord[];
let texts: string[];
beforeAll(async () => {
  tenant = await Tenant.make(service);
  for (let n = 0; n < 30; n++) {
    await tenant.insert(`t${n % 3}`, {n, text: '"table":"t9","id":"other","op":"delete"'});
  }
  await tenant.request('PUT', '/documents/t1/é%22', {fields: {n: 1}});
  await tenant.request('PATCH', '/documents/t1/é%22', {patch: {n: 2}});
  await tenant.request('PUT', '/schema/t1', {table: 't1', fields: []});
  await tenant.request('POST', '/transactions', {
    operations: [
      {type: 'insert', table: 't2', fields: {}},
      {type: 'delete', table: 't1', id: 'é"'},
    ],
  });
  await tenant.request('POST', '/tables/t0/rename', {to: 'renamed'});
  ({records: all, texts} = await journalAfter(tenant, 0));
  expect(all.length).toBe(35);
});

/** By reading every record. */
function expected(holds: (one: {kind: string; table?: string; id?: string}) => boolean): number[] {
  const isFound = ({writes, events}: JournalRecord) => {
    const others = events.filter(({type}) => !type.startsWith('document.'));
    return (
      writes.some(({op, table, id}) => holds({kind: op, table, id})) ||
      others.some(event => holds({...event, id: undefined, kind: event.type.split('.')[0]!} as never))
    );
  };
  return all.filter(isFound).map(({sequence}) => sequence);
}

async function walk(query: string, order: 'asc' | 'desc'): Promise<number[]> {
  const found: number[] = [];
  for (let at = ''; ; ) {
    const {page, texts: some} = await journalPage(tenant, `?${query}&order=${order}&limit=3${at}`);
    for (const [i, {sequence}] of page.records.entries()) {
      found.push(sequence);
      expect(some[i]).toBe(texts[sequence - 1]);
    }
    expect(page.latest_sequence).toBe(all.length);
    if (!page.has_more) return order === 'asc' ? found : found.reverse();
    at = order === 'asc' ? `&after=${page.next_cursor}` : `&before=${page.next_cursor}`;
  }
}

describe('a filtered journal has exactly the records that concern', () => {
  test.each([
    ['table=t1', expected.bind(null, ({table}) => table === 't1')],
    ['table=renamed', () => [all.length]],
    ['document=é%22', expected.bind(null, ({id}) => id === 'é"')],
    ['document=other', () => []],
    ['kind=update', expected.bind(null, ({kind}) => kind === 'update')],
    ['kind=schema', expected.bind(null, ({kind}) => kind === 'schema')],
    ['kind=insert&table=t2', expected.bind(null, ({kind, table}) => kind === 'insert' && table === 't2')],
    ['kind=delete&table=t2', () => []],
  ] as [string, () => number[]][])('%s, in both orders', async (query, sequences) => {
    expect(await walk(query, 'asc')).toEqual(sequences());
    expect(await walk(query, 'desc')).toEqual(sequences());
  });

  test('a range of time, both ends included', async () => {
    const times = [...new Set(all.map(({timestamp}) => timestamp))];
    const [from, to] = [times[2]!, times.at(-3)!];
    const within = all.filter(({timestamp}) => timestamp >= from && timestamp <= to).map(({sequence}) => sequence);
    expect(await walk(`from=${from}&to=${to}`, 'asc')).toEqual(within);
    expect(await walk(`from=${from}&to=${to}&after=4`, 'desc')).toEqual(within.filter(sequence => sequence > 4));
    expect(await walk(`from=${times.at(-1)! + 1}`, 'desc')).toEqual([]);
    expect(await walk('to=1', 'asc')).toEqual([]);
  });
});

test('without a filter, the newest records come first if that is requested', async () => {
  expect(await walk('', 'desc')).toEqual(all.map(({sequence}) => sequence));
});

test.each(['order=up', 'kind=upsert', 'from=yesterday', 'before=0'])('%s is refused', async query => {
  expectError(await tenant.request('GET', `/journal?${query}`), 400, 'op.invalid_input');
});

test('a cursor of another journal is refused here, too', async () => {
  const other = `?table=t1&timeline=${'0'.repeat(32)}&after=1`;
  expectError(await tenant.request('GET', `/journal${other}`), 410, 'journal.cursor_expired');
});
