import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {EventReader} from '../harness/event-reader.ts';
import {bootstrap, checkChain, journalPage, replay} from '../harness/journal.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({args: ['--journal-keep-records', '10']});
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

/** Writes until the records up to this one are gone. Returns the floor. */
async function passTheFloor(sequence = 1): Promise<number> {
  return until('records to be removed', async () => {
    await tenant.insert('t', {});
    const {cursor_floor: floor} = (await journalPage(tenant)).page;
    return floor > sequence && floor;
  });
}

describe('when --journal-keep-records has removed old records', () => {
  test('no fewer than that many are kept, and a page without after starts at the oldest', async () => {
    const floor = await passTheFloor();
    const {page} = await journalPage(tenant, '?limit=1000');
    expect(page.records.map(record => record.sequence)).toEqual(
      Array.from({length: page.latest_sequence - floor + 1}, (_, i) => floor + i),
    );
    expect(page.records.length).toBeGreaterThanOrEqual(10);
    expect((await journalPage(tenant, `?after=${floor - 1}&limit=1000`)).page).toEqual(page);
  });

  test('an after whose records are gone is 410 with the floor in its detail', async () => {
    const floor = await passTheFloor();
    for (const after of [0, floor - 2]) {
      const error = expectError(await tenant.request('GET', `/journal?after=${after}`), 410, 'journal.cursor_expired');
      const {latest_sequence, timeline} = (await journalPage(tenant)).page;
      expect(error.detail).toEqual({cursor_floor: floor, latest_sequence, timeline});
    }
  });

  test('bootstrap names the floor, and with the records after it still equals the state', async () => {
    const floor = await passTheFloor();
    const start = await bootstrap(tenant);
    expect(start.cursor_floor_sequence).toBe(floor);
    await tenant.insert('t', {after: true});
    const {page} = await journalPage(tenant, `?after=${start.resume_after_sequence}`);
    expect(replay(start, page.records).get('t')).toEqual(await tenant.list('t'));
  });

  test('a stream whose reader is behind what was removed has all before that, and ends with the same error', async () => {
    const reader = await EventReader.open(service, `/api/tenants/${tenant.id}/journal/stream`);
    expect((await reader.take(1))[0]!.event).toBe('open');
    const large = Array.from({length: 80}, (_, n) => ({n, text: 'x'.repeat(250_000)}));
    await tenant.insertAll('t', large, 8);
    const floor = await passTheFloor(70);
    const events = await reader.rest();
    const end = events.pop()!;
    expect(end).toMatchObject({
      event: 'end',
      data: {error: {code: 'journal.cursor_expired', detail: {cursor_floor: expect.any(Number)}}},
    });
    // What left before the reader stopped taking, and not one record from behind the gap.
    expect(events.map(({id}) => Number(id))).toEqual(events.map((_, at) => at + 1));
    expect([events.length > 0, events.length < floor - 1, reader.isCut]).toEqual([true, true, false]);
  });

  test('the chain of what is kept holds from the oldest record on', async () => {
    await passTheFloor();
    const {page, texts} = await journalPage(tenant, '?limit=1000');
    expect(checkChain(texts.slice(1), page.records[0]!.integrity_sha256)).toBe(page.records.at(-1)!.integrity_sha256);
  });
});
