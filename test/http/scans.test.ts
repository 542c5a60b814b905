/**
 * Queries that read much: they run on threads of their own, so a tenant goes on serving whatever is asked of it. Order is
 * asserted by what is answered first, never by a clock.
 */
import {request} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {SCANS_WAITING_MAX} from '../../engine/limits.ts';
import {fill} from '../harness/fill.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {type Reply, Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DOCUMENTS = rounds({commit: 100_000, nightly: 200_000});
/** Makes all of them more than an answer may have. */
const TEXT = 'x'.repeat(80);
const ALL = {table: 'many', filters: []};
const NO_MATCH = {table: 'many', filters: [{field: 'n', op: 'eq', value: -1}]};
const UNINDEXED_ORDER = {...ALL, order: {field: 'r', direction: 'desc'}, limit: 3};

/** Each number below DOCUMENTS once, in another order than `n`. */
const shuffled = (n: number) => (n * 7_919) % DOCUMENTS;

let service: Service;
let tenant: Tenant;
let small: string;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
  await fill(service, tenant.id, 'many', DOCUMENTS, n => ({n, r: shuffled(n), half: n % 2, text: TEXT}));
  small = await tenant.insert('few', {n: 0});
}, 120_000);
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const query = (body: object) => tenant.request('POST', '/query', body);

/** Replies in the order they come. */
class Arrivals {
  readonly names: string[] = [];

  async add(name: string, reply: Promise<Reply>): Promise<Reply> {
    const arrived = await reply;
    this.names.push(name);
    return arrived;
  }
}

describe('a query that reads a large table', () => {
  test('is answered like any other', async () => {
    expect(await tenant.query(NO_MATCH)).toEqual([]);
    expect((await tenant.query(UNINDEXED_ORDER)).map(({r}) => r)).toEqual([1, 2, 3].map(n => DOCUMENTS - n));
    const last = {table: 'many', filters: [{field: 'n', op: 'gte', value: DOCUMENTS - 2}]};
    expect((await tenant.query(last)).map(({n}) => n)).toEqual([DOCUMENTS - 2, DOCUMENTS - 1]);
    expectError(await query(ALL), 413, 'op.too_large');
    expectError(await tenant.request('GET', '/documents/many'), 413, 'op.too_large');
  });

  test('gives its pages in one walk', async () => {
    const found: Doc[] = [];
    let after: string | undefined;
    do {
      const asked = {table: 'many', filters: [{field: 'n', op: 'lt', value: 5}], order: UNINDEXED_ORDER.order};
      const page = await tenant.page({query: asked, page_size: 2, ...(after === undefined ? {} : {after})});
      found.push(...page.data);
      after = page.next_cursor ?? undefined;
    } while (after !== undefined);
    expect(found.map(({n}) => n)).toEqual([0, 1, 2, 3, 4].sort((a, b) => shuffled(b) - shuffled(a)));
  });

  test('finds every write that was acknowledged before it was asked, in tables and indexes made meanwhile', async () => {
    for (let n = 0; n < 2; n++) {
      const id = await tenant.insert('many', {n: DOCUMENTS + n, half: 2});
      const added = {table: 'many', filters: [{field: 'half', op: 'gt', value: 1}]};
      expect((await tenant.query(added)).map(({_id}) => _id)).toEqual([id]);
      await tenant.delete('many', id);
      expect(await tenant.query(added)).toEqual([]);
    }
    await tenant.putSchema('many', [], [{name: 'by_half', fields: ['half']}]);
    await until('the index', async () => (await tenant.request('GET', '/schema/many')).text.includes('enabled'));
    const byHalf = {...UNINDEXED_ORDER, filters: [{field: 'half', op: 'eq', value: 1}]};
    expect((await tenant.query(byHalf)).map(({half}) => half)).toEqual([1, 1, 1]);
  });

  test('holds up neither reads nor writes of its tenant', async () => {
    const arrivals = new Arrivals();
    const scan = arrivals.add('scan', query(NO_MATCH));
    await arrivals.add('insert', tenant.request('POST', '/documents', {table: 'few', fields: {n: 1}}));
    await arrivals.add('get', tenant.request('GET', `/documents/few/${small}`));
    await arrivals.add('small query', query({table: 'few', filters: [{field: 'n', op: 'eq', value: 0}]}));
    expect((await scan).status).toBe(200);
    expect(arrivals.names).toEqual(['insert', 'get', 'small query', 'scan']);
  });

  nightly.test(
    'asked 24 times at once: all are answered, and the tenant serves others meanwhile',
    async () => {
      const worker = await service.workerOf(tenant.id);
      const arrivals = new Arrivals();
      const scans = Array.from({length: 24}, (_, n) =>
        arrivals.add('scan', query(n % 2 === 0 ? NO_MATCH : UNINDEXED_ORDER)),
      );
      let served = 0;
      const all = Promise.all(scans);
      while (arrivals.names.length < 24) {
        await tenant.insert('few', {n: 2});
        expect((await tenant.get('few', small)).n).toBe(0);
        // One insert and one get for each scan at least: they do not take turns with scans.
        if (arrivals.names.length < 24) served++;
      }
      expect((await all).map(({status}) => status)).toEqual(Array.from({length: 24}, () => 200));
      expect(served).toBeGreaterThan(24);
      expect(await service.workerOf(tenant.id)).toBe(worker);
    },
    120_000,
  );

  test('held live: the first result is whole, later ones follow, and writes wait for neither', async () => {
    const socket = await Socket.established(service, tenant.id);
    // No index gives this order: whatever leaves the result has to be replaced from the table.
    const newest = {
      table: 'many',
      filters: [{field: 'n', op: 'gte', value: 10}],
      order: UNINDEXED_ORDER.order,
      limit: 2,
    };
    socket.send({type: 'subscribe', request_id: 'a', query: newest});
    const arrivals = new Arrivals();
    const first = socket.next().then(({data}) => {
      arrivals.names.push('result');
      return data as Doc[];
    });
    await arrivals.add('insert', tenant.request('POST', '/documents', {table: 'few', fields: {n: 3}}));
    const shown = (await first).map(({r}) => r);
    expect(arrivals.names).toEqual(['insert', 'result']);
    expect(shown).toEqual([DOCUMENTS - 1, DOCUMENTS - 2]);
    // More than the result has in reserve go, one after the other, while it is shown.
    let left = (await tenant.query({...newest, limit: 80})) as Doc[];
    for (const {_id} of left.slice(0, 75)) await tenant.delete('many', _id);
    left = left.slice(75);
    let latest: Doc[] = [];
    while (latest[0]?._id !== left[0]!._id) {
      const before: Doc | undefined = latest[0];
      latest = (await socket.next()).data as Doc[];
      if (before !== undefined) expect(latest[0]!.r).toBeLessThanOrEqual(before.r as number); // never back
    }
    expect(latest.map(({_id}) => _id)).toEqual(left.slice(0, 2).map(({_id}) => _id));
    socket.close();
  });

  test('is refused with 503 when too many wait, and given up when its client goes', async () => {
    const gone = new AbortController();
    const statuses: number[] = [];
    const send = async () => {
      const reply = await request(`${service.url}/api/tenants/${tenant.id}/query`, {
        method: 'POST',
        body: JSON.stringify(NO_MATCH),
        headers: {authorization: `Bearer ${service.accessToken}`},
        signal: gone.signal,
      });
      statuses.push(reply.statusCode);
      return reply.body.text();
    };
    const waiting = SCANS_WAITING_MAX + 2;
    const scans = Promise.allSettled(Array.from({length: waiting + 10}, send));
    await until('some to be refused', () => statuses.filter(status => status === 503).length >= 5);
    gone.abort();
    await scans;
    // Were they still waiting, this one would be refused.
    const next = await until('the queue to be empty', async () => {
      const reply = await query(NO_MATCH);
      return reply.status === 200 && reply;
    });
    expect(next.body).toEqual({data: []});
    expect(statuses.filter(status => status === 200).length).toBeLessThan(SCANS_WAITING_MAX);
  }, 60_000);
});
