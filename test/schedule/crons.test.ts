import {beforeEach, describe, expect, test} from 'vitest';
import {CRONS_MAX} from '../../engine/limits.ts';
import {CRON_SECONDS_MAX} from '../../shared/limits.ts';
import type {Cron, Mutation} from '../../shared/protocol/schedule.ts';
import {nightly} from '../harness/nightly.ts';
import type {Reply} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let base: string;
/** The test before was refused everything, so this one can have its tenant: a new one starts a worker. */
let isUnused = false;
beforeEach(async () => {
  service.showLogOnFailure();
  if (!isUnused) base = `/api/tenants/${await service.tenant()}`;
  isUnused = false;
});

const mutation: Mutation = {type: 'insert', table: 't', fields: {n: 1}};
const hourly = {name: 'hourly', schedule: {type: 'interval', seconds: 3600}, mutation};

async function list(): Promise<Cron[]> {
  const {status, body} = await service.get(`${base}/crons`);
  expect(status).toBe(200);
  return (body as {crons: Cron[]}).crons;
}

/** The cron, once it has run. */
function ran(name: string): Promise<Cron> {
  return until(`cron ${name} to run`, async () =>
    (await list()).find(cron => cron.name === name && cron.last_run !== null),
  );
}

function create(body: unknown): Promise<Reply> {
  return service.post(`${base}/crons`, body);
}

function code({body}: Reply): string {
  return (body as {error: {code: string}}).error.code;
}

describe('POST crons', () => {
  test('answers 201 without a body; the cron is listed, enabled, due one interval after its creation', async () => {
    const {status, text} = await create(hourly);
    expect([status, text]).toEqual([201, '']);
    const [cron] = await list();
    expect(cron).toEqual({
      ...hourly,
      enabled: true,
      last_run: null,
      next_run: cron!.created_at + 3_600_000,
      created_at: expect.any(Number),
      last_outcome: null,
      last_error: null,
      failures: 0,
    });
  });

  test.each<[string, unknown]>([
    ['no body', undefined],
    ['no name', {...hourly, name: undefined}],
    ['an empty name', {...hourly, name: ''}],
    ['a name of 129 characters', {...hourly, name: 'x'.repeat(129)}],
    ['a name with a slash', {...hourly, name: 'a/b'}],
    ['a name with a control character', {...hourly, name: 'a\n'}],
    ['the name . which no client can send in a path', {...hourly, name: '.'}],
    ['the name ..', {...hourly, name: '..'}],
    ['a name that is a number', {...hourly, name: 1}],
    ['no schedule', {...hourly, schedule: undefined}],
    ['a schedule without type', {...hourly, schedule: {seconds: 60}}],
    [
      'a schedule of another type: interval and cron are all there are',
      {...hourly, schedule: {type: 'daily', expression: '* * * * *'}},
    ],
    ['no seconds', {...hourly, schedule: {type: 'interval'}}],
    ['seconds a string', {...hourly, schedule: {type: 'interval', seconds: '60'}}],
    ['0 seconds', {...hourly, schedule: {type: 'interval', seconds: 0}}],
    ['less than a second', {...hourly, schedule: {type: 'interval', seconds: 0.999}}],
    ['seconds that would have to be rounded', {...hourly, schedule: {type: 'interval', seconds: 1.0005}}],
    ['negative seconds', {...hourly, schedule: {type: 'interval', seconds: -60}}],
    ['more than ten years', {...hourly, schedule: {type: 'interval', seconds: CRON_SECONDS_MAX + 1}}],
    ['no mutation', {...hourly, mutation: undefined}],
    ['a query: only mutations can be scheduled', {...hourly, mutation: {type: 'query', table: 't', filters: []}}],
    ['an insert without fields', {...hourly, mutation: {type: 'insert', table: 't'}}],
  ])('is 400 op.invalid_input, and nothing is made: %s', async (_, body) => {
    const reply = await create(body);
    expect([reply.status, code(reply)]).toEqual([400, 'op.invalid_input']);
    expect(await list()).toEqual([]);
    isUnused = true;
  });

  test('intervals are listed as they were given', async () => {
    const schedules = [1, 1.5, 1.001, 4.35, 86_400.007, 86_400, CRON_SECONDS_MAX].map(seconds => ({
      type: 'interval',
      seconds,
    }));
    for (const [n, schedule] of schedules.entries()) {
      expect((await create({...hourly, name: `c${n}`, schedule})).status).toBe(201);
    }
    expect((await list()).map(({schedule}) => schedule)).toEqual(schedules);
  });

  test('a name that is taken is 409 op.conflict, and the first cron stays as it is', async () => {
    await create(hourly);
    const before = await list();
    const reply = await create({...hourly, schedule: {type: 'interval', seconds: 60}});
    expect([reply.status, code(reply)]).toEqual([409, 'op.conflict']);
    expect(await list()).toEqual(before);
  });

  test('two at once under one name: one is made, the other is 409', async () => {
    const replies = await Promise.all([create(hourly), create(hourly)]);
    expect(replies.map(reply => reply.status).sort()).toEqual([201, 409]);
  });

  test("names are the tenant's own, and a deleted one is free again", async () => {
    await create(hourly);
    const other = `/api/tenants/${await service.tenant()}`;
    expect((await service.post(`${other}/crons`, hourly)).status).toBe(201);
    await service.request('DELETE', `${base}/crons/hourly`);
    expect((await create(hourly)).status).toBe(201);
  });

  test('with an Idempotency-Key it is made once, and answers 201 again', async () => {
    for (let i = 0; i < 2; i++) {
      expect((await service.post(`${base}/crons`, hourly, {'idempotency-key': 'k'})).status).toBe(201);
    }
    expect(await list()).toHaveLength(1);
  });

  nightly.test(`a tenant has at most ${CRONS_MAX}: the next one is 429 op.rate_limited`, async () => {
    const made = await Promise.all(Array.from({length: CRONS_MAX}, (_, n) => create({...hourly, name: `c${n}`})));
    expect(new Set(made.map(reply => reply.status))).toEqual(new Set([201]));
    const reply = await create(hourly);
    expect([reply.status, code(reply)]).toEqual([429, 'op.rate_limited']);
    await service.request('DELETE', `${base}/crons/c7`);
    expect((await create(hourly)).status).toBe(201);
  });
});

describe('GET crons', () => {
  test('is an empty list at first, then all by name', async () => {
    expect(await list()).toEqual([]);
    for (const name of ['b', 'a', 'C', 'ä b', '👩‍🚀']) await create({...hourly, name});
    expect((await list()).map(cron => cron.name)).toEqual(['C', 'a', 'b', 'ä b', '👩‍🚀']);
  });

  nightly.test('is 413 op.too_large when the crons take more than 16 MiB', async () => {
    const large = {...mutation, fields: {text: '€'.repeat(349_000)}};
    for (let n = 0; n < 21; n++) expect((await create({...hourly, name: `c${n}`, mutation: large})).status).toBe(201);
    const reply = await service.get(`${base}/crons`);
    expect([reply.status, code(reply)]).toEqual([413, 'op.too_large']);
  });
});

describe('GET crons in pages', () => {
  test('by name, behind the cron that the page before ended with, even when that is gone', async () => {
    const names = ['C', 'a b', 'ä/'.slice(0, 1), '👩‍🚀', 'z', 'zz'].toSorted((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    for (const name of names) await create({...hourly, name});
    const walked: string[] = [];
    for (let after = ''; ; ) {
      const {body} = await service.get(`${base}/crons?limit=2${after}`);
      const {crons, next_cursor} = body as {crons: Cron[]; next_cursor: string | null};
      walked.push(...crons.map(cron => cron.name));
      if (next_cursor === null) break;
      after = `&after=${encodeURIComponent(next_cursor)}`;
      await service.request('DELETE', `${base}/crons/${encodeURIComponent(crons.at(-1)!.name)}`);
    }
    expect(walked).toEqual(names);
    const refused = await service.get(`${base}/crons?after=%3D`);
    expect([refused.status, code(refused)]).toEqual([400, 'op.invalid_input']);
  });
});

describe('DELETE crons/{name}', () => {
  test('is 204, then 404 op.not_found; the others stay', async () => {
    await create(hourly);
    await create({...hourly, name: 'every day ü%'});
    const path = `${base}/crons/${encodeURIComponent('every day ü%')}`;
    const {status, text} = await service.request('DELETE', path);
    expect([status, text]).toEqual([204, '']);
    const again = await service.request('DELETE', path);
    expect([again.status, code(again)]).toEqual([404, 'op.not_found']);
    expect((await list()).map(cron => cron.name)).toEqual(['hourly']);
  });
});

describe('a cron runs', () => {
  const secondly = {...hourly, name: 'secondly', schedule: {type: 'interval', seconds: 1}};

  test('one interval after its creation, again at each tick, on after a failure, and no more once it is deleted', async () => {
    const failing = {type: 'delete', table: 't', id: 'nothing'};
    const other = `/api/tenants/${await service.tenant()}`;
    expect((await service.post(`${other}/crons`, {...secondly, mutation: failing})).status).toBe(201);
    await create(secondly);
    const first = await ran('secondly');
    expect(first.last_run).toBeGreaterThanOrEqual(first.created_at + 1000);
    expect(first.next_run).toBeGreaterThan(first.last_run!);
    expect((first.next_run - first.created_at) % 1000).toBe(0);
    await until('a second run', async () => (await list())[0]!.last_run! > first.last_run!);
    await service.request('DELETE', `${base}/crons/secondly`);

    const {body} = await service.get(`${base}/journal`);
    const records = (body as {records: {events: {type: string}[]; scheduled_execution_id: string | null}[]}).records;
    const runs = records.filter(record => record.scheduled_execution_id !== null);
    expect(records.map(record => record.events.map(event => event.type))).toEqual([
      ['cron.created'],
      ...runs.map(() => ['document.inserted', 'cron.fired']),
      ['cron.deleted'],
    ]);
    const ticks = runs.map(record => record.scheduled_execution_id);
    expect(ticks[0]).toBe(`secondly@${first.created_at + 1000}`);
    expect(new Set(ticks).size).toBe(ticks.length);
    const documents = await service.get(`${base}/documents/t`);
    expect((documents.body as {data: unknown[]}).data).toHaveLength(runs.length);

    base = other;
    const failed = await until('a second failure', async () => (await list()).find(({failures}) => failures > 1));
    expect(failed).toMatchObject({
      enabled: true,
      mutation: failing,
      last_outcome: 'failed',
      last_error: 'op.not_found: table "t" has no document "nothing"',
    });
  });
});
