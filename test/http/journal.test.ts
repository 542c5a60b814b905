import {readFileSync, writeFileSync} from 'node:fs';
import {beforeEach, describe, expect, test} from 'vitest';
import {bootstrap, checkChain, journalAfter, journalPage} from '../harness/journal.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
/** The test before was refused everything, so this one can have its tenant: a new one starts a worker. */
let isUnused = false;
beforeEach(async () => {
  service.showLogOnFailure();
  if (!isUnused) tenant = await Tenant.make(service);
  isUnused = false;
});

async function insertNumbers(count: number, inFlight?: number): Promise<void> {
  await tenant.insertAll(
    't',
    Array.from({length: count}, (_, n) => ({n})),
    inFlight,
  );
}

describe('a journal page', () => {
  test('of a fresh tenant is empty, with floor 1 and latest 0', async () => {
    expect((await tenant.request('GET', '/journal')).text).toMatch(
      /^\{"records":\[\],"next_cursor":0,"latest_sequence":0,"cursor_floor":1,"has_more":false,"timeline":"[0-9a-f]{32}"\}$/,
    );
  });

  test('has 100 records unless asked, gapless from after + 1, and says whether more remain', async () => {
    await insertNumbers(250);
    const pages = [];
    for (let after = 0, more = true; more; ) {
      const {page} = await journalPage(tenant, `?after=${after}`);
      pages.push(page.records.map(record => record.sequence));
      expect(page).toMatchObject({latest_sequence: 250, cursor_floor: 1, has_more: page.next_cursor < 250});
      expect(page.next_cursor).toBe(page.records.at(-1)!.sequence);
      more = page.has_more;
      after = page.next_cursor;
    }
    expect(pages.map(page => page.length)).toEqual([100, 100, 50]);
    expect(pages.flat()).toEqual(Array.from({length: 250}, (_, i) => i + 1));
    expect((await journalPage(tenant)).page).toEqual((await journalPage(tenant, '?after=0&limit=100')).page);
  });

  nightly.test('costs its worker about what it holds, however long the journal is', async () => {
    const text = 'x'.repeat(1_000_000);
    await tenant.insertAll(
      't',
      Array.from({length: 120}, (_, n) => ({n, text})),
      8,
    );
    const worker = await service.workerOf(tenant.id);
    writeFileSync(`/proc/${worker}/clear_refs`, '5'); // the peak begins anew
    const peakKib = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${worker}/status`, 'utf8'))![1]);
    const before = peakKib();
    const {page} = await journalPage(tenant, '?limit=1000');
    expect(page).toMatchObject({has_more: true, latest_sequence: 120});
    expect(page.records).toHaveLength(8);
    expect(peakKib() - before).toBeLessThan(80 * 1024);
  });

  test('ends at limit; at the end of the journal it is empty and gives back the cursor', async () => {
    await insertNumbers(5);
    const sequences = async (query: string) => (await journalPage(tenant, query)).page.records.map(r => r.sequence);
    expect(await sequences('?limit=2')).toEqual([1, 2]);
    expect(await sequences('?after=3&limit=1')).toEqual([4]);
    expect(await sequences('?limit=5&unknown=1')).toEqual([1, 2, 3, 4, 5]);
    const {timeline, ...atHead} = (await journalPage(tenant, '?after=5')).page;
    expect(atHead).toEqual({records: [], next_cursor: 5, latest_sequence: 5, cursor_floor: 1, has_more: false});
    expect((await journalPage(tenant, `?after=5&timeline=${timeline}`)).page).toEqual({...atHead, timeline});
    expect((await journalPage(tenant, '?limit=5')).page.has_more).toBe(false);
    expect((await journalPage(tenant, '?limit=4')).page.has_more).toBe(true);
  });

  test('beyond the head is 410, with the head: the journal is another one than it was', async () => {
    await insertNumbers(5);
    const {timeline} = (await journalPage(tenant)).page;
    for (const after of [6, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      const error = expectError(await tenant.request('GET', `/journal?after=${after}`), 410, 'journal.cursor_expired');
      expect(error.message).toContain('the journal ends at 5');
      expect(error.detail).toEqual({latest_sequence: 5, cursor_floor: 1, timeline});
    }
  });

  test('of another timeline is 410: a tenant that was made again under its id has another journal', async () => {
    await insertNumbers(3);
    const {timeline, next_cursor: after} = (await journalPage(tenant)).page;
    expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
    expect((await service.post('/api/tenants', {id: tenant.id})).status).toBe(201);
    await insertNumbers(7);
    const now = (await bootstrap(tenant)).timeline;
    expect(now).toMatch(/^[0-9a-f]{32}$/);
    expect(now).not.toBe(timeline);
    for (const query of [`after=${after}&timeline=${timeline}`, `timeline=${timeline}`, 'timeline=', 'timeline=x']) {
      const error = expectError(await tenant.request('GET', `/journal?${query}`), 410, 'journal.cursor_expired');
      expect(error.detail).toEqual({latest_sequence: 7, cursor_floor: 1, timeline: now});
    }
    expect((await journalPage(tenant, `?after=${after}&timeline=${now}`)).page.records).toHaveLength(4);
  });

  test('a limit above 1,000 is 1,000', async () => {
    await insertNumbers(1001);
    for (const limit of [1000, 1001, 1_000_000]) {
      const {page} = await journalPage(tenant, `?limit=${limit}`);
      expect(page.records).toHaveLength(1000);
      expect(page).toMatchObject({next_cursor: 1000, has_more: true});
    }
  });

  test('ends early rather than grow beyond 8 MiB, and the walk still covers everything', async () => {
    for (let n = 0; n < 12; n++) await tenant.insert('t', {n, pad: 'x'.repeat(900_000)});
    const {page} = await journalPage(tenant);
    expect(page.records.length).toBeLessThan(12);
    expect(page.has_more).toBe(true);
    const {records, texts} = await journalAfter(tenant, 0);
    expect(records.map(record => record.sequence)).toEqual(Array.from({length: 12}, (_, i) => i + 1));
    checkChain(texts);
  });

  test.each([
    ...['after=-1', 'after=x', 'after=1.5', 'after=1e3', 'after=', 'after=0x1', 'after=%201', 'after=null'],
    ...['after=9007199254740992', 'after=99999999999999999999', 'after=%00', 'after=%ff', 'after=NaN'],
    ...['limit=0', 'limit=-1', 'limit=x', 'limit=', 'limit=1.0', 'limit=99999999999999999999', 'after=1&limit=0'],
  ])('?%s is 400', async query => {
    expectError(await tenant.request('GET', `/journal?${query}`), 400, 'op.invalid_input');
    isUnused = true;
  });
});

describe('a journal record', () => {
  const fields = [
    ...['version', 'sequence', 'timestamp', 'events', 'writes', 'scheduled_execution_id', 'cause'],
    'integrity_sha256',
  ];
  const last = async () => {
    const {records} = await journalAfter(tenant, 0);
    const record = records.at(-1)!;
    expect(Object.keys(record)).toEqual(fields);
    return record;
  };

  test('of an insert holds the whole document', async () => {
    const before = Date.now();
    const id = await tenant.insert('t', {b: [1], a: null});
    const record = await last();
    expect(record).toMatchObject({
      version: 1,
      sequence: 1,
      events: [{type: 'document.inserted', table: 't', id}],
      writes: [{table: 't', id, op: 'insert', document: await tenant.get('t', id)}],
      scheduled_execution_id: null,
    });
    expect(record.timestamp).toBeGreaterThanOrEqual(before);
    expect(record.timestamp).toBeLessThanOrEqual(Date.now());
  });

  test('of a patch holds the whole document afterwards', async () => {
    const id = await tenant.insert('t', {a: 1, b: 2});
    await tenant.patch('t', id, {b: 3});
    expect(await last()).toMatchObject({
      sequence: 2,
      events: [{type: 'document.updated', table: 't', id}],
      writes: [{table: 't', id, op: 'update', document: {_id: id, a: 1, b: 3}}],
    });
  });

  test('of a delete holds null', async () => {
    const id = await tenant.insert('t', {});
    await tenant.delete('t', id);
    expect(await last()).toMatchObject({
      sequence: 2,
      events: [{type: 'document.deleted', table: 't', id}],
      writes: [{table: 't', id, op: 'delete', document: null}],
    });
  });

  test('of a schema that is set or deleted names the table', async () => {
    await tenant.putSchema('t', []);
    expect(await last()).toMatchObject({events: [{type: 'schema.set', table: 't', schema: {table: 't'}}], writes: []});
    await tenant.request('DELETE', '/schema/t');
    expect(await last()).toMatchObject({sequence: 2, events: [{type: 'schema.deleted', table: 't'}], writes: []});
  });

  test('is not made by what failed or was only read', async () => {
    const id = await tenant.insert('t', {});
    await tenant.request('POST', '/documents', {table: 't', fields: {$no: 1}});
    await tenant.request('PATCH', '/documents/t/nobody', {patch: {}});
    await tenant.request('DELETE', '/documents/t/nobody');
    await tenant.request('PUT', '/schema/t', {table: 'u', fields: [], indexes: []});
    await tenant.request('DELETE', '/schema/t');
    await tenant.query({table: 't', filters: []});
    await tenant.get('t', id);
    expect((await journalPage(tenant)).page.latest_sequence).toBe(1);
  });
});

describe('the chain of integrity_sha256', () => {
  test('can be recomputed from the text of the records, whatever is in them', async () => {
    const texts = ['{"a":"\\"],[{\\\\"}', '{"é":"～😀\\u2028"}', '{"v":{"__proto__":1}}', '{"n":1e300,"z":-0}', '{}'];
    for (const text of texts) {
      const id = await tenant.insert('t', text);
      await tenant.request('PATCH', `/documents/t/${id}`, `{"patch":${text}}`);
      await tenant.delete('t', id);
    }
    await tenant.putSchema('t', [{name: 'a', field_type: 'any', required: false}], [{name: 'i', fields: ['a']}]);
    const {texts: records} = await journalAfter(tenant, 0, 3);
    expect(records).toHaveLength(15); // the patch {} writes nothing
    checkChain(records);
  });

  test('holds for writes that were committed together', async () => {
    await insertNumbers(500, 64);
    const {records, texts} = await journalAfter(tenant, 0);
    checkChain(texts);
    const times = records.map(record => record.timestamp);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect((await tenant.list('t')).map(doc => doc._id)).toEqual(records.map(record => record.writes[0]!.id));
  });

  test('a changed record is noticed (this is what the check is worth)', async () => {
    await insertNumbers(3, 1);
    const {texts} = await journalAfter(tenant, 0);
    expect(() => checkChain(texts.with(1, texts[1]!.replace('"n":1', '"n":2')))).toThrow('the chain breaks');
    expect(() => checkChain([texts[0]!, texts[2]!])).toThrow('the chain breaks');
  });
});
