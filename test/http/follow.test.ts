/** Streams of server-sent events: the journal, and queries. */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {EventReader} from '../harness/event-reader.ts';
import {journalAfter, journalPage} from '../harness/journal.ts';
import {ReverseProxy} from '../harness/reverse-proxy.ts';
import {Service} from '../harness/service.ts';
import {type Doc, type ErrorBody, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let empty: Tenant;
beforeAll(async () => {
  service = await Service.start();
  empty = await Tenant.make(service);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

type Asked = Parameters<typeof EventReader.open>[2];
const follow = (tenant: Tenant, path: string, asked?: Asked, of = service) =>
  EventReader.open(of, `/api/tenants/${tenant.id}${path}`, asked);
const LARGE = 'x'.repeat(500_000);

async function errorOf(reader: EventReader): Promise<ErrorBody> {
  return (JSON.parse(await reader.body()) as {error: ErrorBody}).error;
}

async function gauge(name: string): Promise<number> {
  const {text} = await service.get('/metrics');
  const lines = text.split('\n').filter(line => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('the journal as a stream of events', () => {
  test('has every record once, in order and as pages have it: those that are there and those to come', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insertAll(
      'notes',
      Array.from({length: 300}, (_, n) => ({n, text: 'é\n\u2028'.repeat(n)})),
    );
    const reader = await follow(tenant, '/journal/stream');
    expect([reader.status, reader.headers['content-type'], reader.headers['x-accel-buffering']]).toEqual([
      200,
      'text/event-stream',
      'no',
    ]);
    const {timeline} = (await journalPage(tenant)).page;
    expect(await reader.take(1)).toEqual([
      {event: 'open', id: '0', data: {timeline, latest_sequence: 300, cursor_floor: 1}},
    ]);
    const early = await reader.take(300);
    const [id] = await Promise.all([tenant.insert('notes', {}), tenant.insertAll('tasks', [{}, {}, {}])]);
    await tenant.delete('notes', id);
    const events = [...early, ...(await reader.take(5))];
    reader.close();
    const {records} = await journalAfter(tenant, 0);
    expect(events.map(({data}) => data)).toEqual(records);
    expect(events.map(event => event.id)).toEqual(records.map(({sequence}) => String(sequence)));
    expect(new Set(events.map(({event}) => event))).toEqual(new Set(['message']));
  });

  test('goes on after `after`, after the `Last-Event-ID` of a reader that comes back, or with what comes from now on', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insertAll(
      'notes',
      Array.from({length: 10}, () => ({})),
    );
    const ids = async (query: string, headers?: Record<string, string>) => {
      const reader = await follow(tenant, `/journal/stream?limit=3${query}`, {headers});
      return (await reader.rest()).map(({event, id, data}) => (event === 'end' ? data : id));
    };
    expect(await ids('')).toEqual(['0', '1', '2', '3', {error: null}]);
    expect(await ids('&after=4')).toEqual(['4', '5', '6', '7', {error: null}]);
    expect(await ids('&after=4', {'last-event-id': '7'})).toEqual(['7', '8', '9', '10', {error: null}]);
    const late = await follow(tenant, '/journal/stream?after=latest');
    expect((await late.take(1))[0]!.id).toBe('10');
    await tenant.insert('notes', {});
    expect((await late.take(1))[0]!.id).toBe('11');
    late.close();
  });

  test('has the records that concern the tables it names, whole', async () => {
    const tenant = await Tenant.make(service);
    const reader = await follow(tenant, '/journal/stream?table=a&table=b');
    await tenant.insert('a', {});
    await tenant.insert('c', {table: 'a', to: 'b'});
    await tenant.putSchema('b', []);
    const operations = ['c', 'b'].map(table => ({type: 'insert', table, fields: {}}));
    expect((await tenant.request('POST', '/transactions', {operations})).status).toBe(200);
    const [, ...events] = await reader.take(4);
    reader.close();
    expect(events.map(({id}) => id)).toEqual(['1', '3', '4']);
    expect((events[2]!.data as JournalRecord).writes.map(({table}) => table)).toEqual(['c', 'b']);
  });

  test.each([
    ['after=1000', undefined, 410, 'journal.cursor_expired'],
    ['after=0&timeline=00', undefined, 410, 'journal.cursor_expired'],
    ['', '1000', 410, 'journal.cursor_expired'],
    ['', 'x', 400, 'op.invalid_input'],
    ['after=-1', undefined, 400, 'op.invalid_input'],
    ['afetr=1', undefined, 400, 'op.invalid_input'],
    ['limit=0', undefined, 400, 'op.invalid_input'],
    ['table=1', undefined, 400, 'op.invalid_input'],
  ])('?%s with Last-Event-ID %s is %i', async (query, lastEventId, status, code) => {
    const headers = lastEventId === undefined ? {} : {'last-event-id': lastEventId};
    const reader = await follow(empty, `/journal/stream?${query}`, {headers});
    expect([reader.status, (await errorOf(reader)).code]).toEqual([status, code]);
  });

  test('waits for a reader that does not read, which then has all of it, and costs next to nothing meanwhile', async () => {
    const tenant = await Tenant.make(service);
    const reader = await follow(tenant, '/journal/stream');
    await tenant.insertAll(
      'large',
      Array.from({length: 32}, (_, n) => ({n, LARGE})),
      8,
    );
    expect(await gauge('svc_followers{kind="journal"}')).toBeGreaterThan(0);
    expect(await gauge('svc_follower_owed_bytes')).toBeLessThan(4 * 1024 * 1024);
    const events = await reader.take(33);
    reader.close();
    expect(events.map(({id}) => Number(id))).toEqual(Array.from({length: 33}, (_, n) => n));
    expect(
      events
        .slice(1)
        .every(({data}) => ((data as JournalRecord).writes[0]!.document as {LARGE?: string}).LARGE === LARGE),
    ).toBe(true);
  });
});

describe('a query as a stream of events', () => {
  const query = {table: 'notes', filters: [{field: 'n', op: 'gte', value: 1}], order: {field: 'n', direction: 'asc'}};
  const inUrl = `/query/stream?query=${encodeURIComponent(JSON.stringify(query))}`;

  test.each([
    ['POST', '/query/stream', query],
    ['GET', inUrl, undefined],
  ])('%s has the whole result, and again when it changes', async (method, path, body) => {
    const tenant = await Tenant.make(service);
    const id = await tenant.insert('notes', {n: 1});
    const reader = await follow(tenant, path, {method, body});
    const next = async () => {
      const [event] = await reader.take(1);
      const {data} = event!.data as {data: Doc[]};
      expect(data).toEqual(await tenant.query(query));
      return [event!.event, Number(event!.id), data.map(({n}) => n)];
    };
    expect(await next()).toEqual(['message', 1, [1]]);
    await tenant.insert('notes', {n: 0});
    await tenant.insert('others', {n: 1});
    await tenant.insert('notes', {n: 5});
    expect(await next()).toEqual(['message', 4, [1, 5]]);
    await tenant.delete('notes', id);
    expect(await next()).toEqual(['message', 5, [5]]);
    reader.close();
    await until('nobody to follow', async () => (await gauge('svc_followers{kind="query"}')) === 0);
  });

  test('gives a reader that does not read the newest result and leaves out what came before', async () => {
    const tenant = await Tenant.make(service);
    const id = await tenant.insert('notes', {n: 1, LARGE});
    const reader = await follow(tenant, '/query/stream', {method: 'POST', body: query});
    for (let n = 2; n <= 40; n++) await tenant.patch('notes', id, {n, LARGE: `${n}${LARGE}`});
    expect(await gauge('svc_follower_owed_bytes')).toBeLessThan(4 * 1024 * 1024);
    const shown: number[] = [];
    while (shown.at(-1) !== 40) shown.push(((await reader.next())!.data as {data: Doc[]}).data[0]!.n as number);
    reader.close();
    expect(shown).toEqual([...new Set(shown)].sort((a, b) => a - b));
    expect(shown.length).toBeLessThan(39);
  });

  test.each([
    ['POST', '/query/stream', {table: 'notes'}],
    ['POST', '/query/stream', {...query, filters: [{field: 'n', op: 'like', value: 1}]}],
    ['POST', '/query/stream?query=1', query],
    ['GET', '/query/stream', undefined],
    ['GET', '/query/stream?query=%7B', undefined],
  ])('%s %s of what is no query is 400', async (method, path, body) => {
    const reader = await follow(empty, path, {method, body});
    expect([reader.status, (await errorOf(reader)).code]).toEqual([400, 'op.invalid_input']);
  });
});

describe('a stream of events that the server ends', () => {
  test('says that its tenant was deleted', async () => {
    const tenant = await Tenant.make(service);
    const body = {table: 'notes', filters: []};
    const readers = [
      await follow(tenant, '/journal/stream'),
      await follow(tenant, '/query/stream', {method: 'POST', body}),
    ];
    for (const reader of readers) await reader.take(1);
    expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
    for (const reader of readers) {
      expect(await reader.rest()).toMatchObject([{event: 'end', data: {error: {code: 'session.tenant_not_found'}}}]);
      expect(reader.isCut).toBe(false);
    }
  });

  test('says that its key was revoked', async () => {
    const tenant = await Tenant.make(service);
    const grant = {name: 'follower', scopes: ['data:read'], tenants: [tenant.id]};
    const {body}: {body: {key: {id: string}; secret: string}} = await service.post('/api/keys', grant);
    const reader = await follow(tenant, '/journal/stream', {headers: {authorization: `Bearer ${body.secret}`}});
    await reader.take(1);
    expect((await service.request('DELETE', `/api/keys/${body.key.id}`)).status).toBe(204);
    expect(await reader.rest()).toMatchObject([{event: 'end', data: {error: {code: 'auth.unauthorized'}}}]);
    expect(reader.isCut).toBe(false);
  });

  test("says that its tenant's worker has died, and goes on where it was when it is asked again", async () => {
    const tenant = await Tenant.make(service);
    const reader = await follow(tenant, '/journal/stream');
    await tenant.insert('notes', {});
    expect((await reader.take(2))[1]!.id).toBe('1');
    process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    expect(await reader.rest()).toMatchObject([{event: 'end', data: {error: {code: 'session.worker_unavailable'}}}]);
    await tenant.insert('notes', {});
    const again = await follow(tenant, '/journal/stream?limit=1', {headers: {'last-event-id': '1'}});
    expect((await again.rest()).map(({id}) => id)).toEqual(['1', '2', null]);
  });

  test('says that the server stops', async () => {
    const other = await Service.start();
    try {
      const tenant = await Tenant.make(other);
      const reader = await follow(tenant, '/journal/stream', {}, other);
      await tenant.insert('notes', {});
      await reader.take(2);
      const ended = other.end('SIGTERM');
      expect(await reader.rest()).toMatchObject([{event: 'end', data: {error: {code: 'session.worker_unavailable'}}}]);
      expect([reader.isCut, await ended]).toEqual([false, 0]);
    } finally {
      await other.stop();
    }
  });
});

test.each(['nginx', 'caddy'] as const)('%s lets every event through at once', async kind => {
  const proxy = await ReverseProxy.start(kind, service.port);
  try {
    const tenant = await Tenant.make(service);
    const reader = await follow(tenant, '/journal/stream', {url: proxy.url});
    expect((await reader.take(1))[0]!.event).toBe('open');
    for (const id of ['1', '2']) {
      await tenant.insert('notes', {});
      expect((await reader.take(1))[0]!.id).toBe(id);
    }
    reader.close();
  } finally {
    await proxy.stop();
  }
});
