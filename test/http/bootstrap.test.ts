import {beforeEach, describe, expect, test} from 'vitest';
import {bootstrap, checkChain, journalAfter, journalPage, replay} from '../harness/journal.ts';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

describe('GET …/journal/bootstrap', () => {
  test('of a fresh tenant: nothing, to be continued from 0', async () => {
    expect(await bootstrap(tenant)).toEqual({
      snapshot: {
        version: 1,
        applied_sequence: 0,
        durable_head: 0,
        schema: {tables: {}},
        documents: {},
        scheduled_execution_ids: [],
        jobs: [],
        crons: [],
        deployments: [],
        settings: {egress: {allow: [], deny: []}, allowed_origins: null},
        environment: [],
      },
      resume_after_sequence: 0,
      bootstrap_cut_sequence: 0,
      cursor_floor_sequence: 1,
      timeline: (await journalPage(tenant)).page.timeline,
    });
  });

  test('holds every document by table, in order of creation, and the schema as GET shows it', async () => {
    for (const n of [2, 1, 3]) await tenant.insert('t', {n});
    await tenant.insert('u', '{"v":{"__proto__":"～😀"}}');
    await tenant.putSchema('t', [{name: 'n', field_type: 'number', required: true}], [{name: 'by_n', fields: ['n']}]);
    const {snapshot, ...cut} = await bootstrap(tenant);
    expect(snapshot.documents).toEqual({t: await tenant.list('t'), u: await tenant.list('u')});
    expect(snapshot.schema).toEqual((await tenant.request('GET', '/schema')).body);
    expect(snapshot).toMatchObject({applied_sequence: 5, durable_head: 5});
    const {timeline} = (await journalPage(tenant)).page;
    expect(cut).toEqual({resume_after_sequence: 5, bootstrap_cut_sequence: 5, cursor_floor_sequence: 1, timeline});
  });

  test('streams more than fits in memory windows: 12 MiB arrive whole', async () => {
    const pad = 'é'.repeat(50_000);
    await tenant.insertAll(
      't',
      Array.from({length: 120}, (_, n) => ({n, pad})),
      8,
    );
    const {snapshot} = await bootstrap(tenant);
    expect(snapshot.documents.t!.map(doc => doc._id)).toEqual((await allIds()).flat());
    expect(snapshot.documents.t!.filter(doc => doc.pad !== pad)).toEqual([]);
  });

  test('taken while others write, it is one moment: with the journal after it, it equals the state', async () => {
    const writers = Array.from({length: 8}, async (_, writer) => {
      for (let n = 0; n < 40; n++) {
        const id = await tenant.insert(`t${n % 2}`, {writer, n});
        if (n % 3 === 1) await tenant.patch(`t${n % 2}`, id, {patched: n});
        if (n % 3 === 2) await tenant.delete(`t${n % 2}`, id);
      }
    });
    const cuts = [];
    for (let i = 0; i < 10; i++) cuts.push(await bootstrap(tenant));
    await Promise.all(writers);
    const state = new Map<string, Doc[]>();
    for (const table of ['t0', 't1']) state.set(table, await tenant.list(table));
    for (const cut of cuts) {
      expect(cut.snapshot.applied_sequence).toBe(cut.resume_after_sequence);
      const {records} = await journalAfter(tenant, cut.resume_after_sequence);
      const replayed = replay(cut, records);
      for (const [table, docs] of state) expect(replayed.get(table)).toEqual(docs);
    }
    checkChain((await journalAfter(tenant, 0)).texts);
  });

  test('writes that were answered before it was asked for are in it', async () => {
    for (let n = 0; n < 20; n++) {
      const id = await tenant.insert('t', {n});
      const {snapshot, bootstrap_cut_sequence: cut} = await bootstrap(tenant);
      expect(snapshot.documents.t!.at(-1)!._id).toBe(id);
      expect(cut).toBe((await journalPage(tenant)).page.latest_sequence);
    }
  });
});

/** In order of creation, page by page. */
async function allIds(): Promise<string[][]> {
  const ids: string[][] = [];
  for (let after: string | null = null; ; ) {
    const query = {table: 't', filters: []};
    const page = await tenant.page({query, page_size: 50, ...(after === null ? {} : {after})});
    ids.push(page.data.map(doc => doc._id));
    if (page.next_cursor === null) return ids;
    after = page.next_cursor;
  }
}
