import {beforeEach, describe, expect, test} from 'vitest';
import {RUN_AFTER_MS_MAX} from '../../shared/limits.ts';
import type {JobResult, Mutation, PendingJob} from '../../shared/protocol/schedule.ts';
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

const LATER_MS = 3_600_000;
const insertion: Mutation = {type: 'insert', table: 't', fields: {n: 1}};
type JournalRecord = {
  events: {type: string; id?: string; table?: string}[];
  writes: {op: string; id: string}[];
  scheduled_execution_id: string | null;
};

async function schedule(mutation: object, runAfterMs = 0): Promise<string> {
  const {status, body, text} = await service.post(`${base}/schedule`, {run_after_ms: runAfterMs, mutation});
  if (status !== 201) throw new Error(text);
  return (body as {job_id: string}).job_id;
}

async function pending(): Promise<PendingJob[]> {
  const {body} = await service.get(`${base}/schedule`);
  return (body as {jobs: PendingJob[]}).jobs;
}

/** The job's result, once there is one. */
function result(id: string): Promise<JobResult> {
  return until(`the result of job ${id}`, async () => {
    const {status, body} = await service.get(`${base}/schedule/history/${id}`);
    return status === 200 && (body as {result: JobResult}).result;
  });
}

async function documents(): Promise<Record<string, unknown>[]> {
  const {body} = await service.get(`${base}/documents/t`);
  return (body as {data: Record<string, unknown>[]}).data;
}

async function journal(): Promise<JournalRecord[]> {
  const {body} = await service.get(`${base}/journal`);
  return (body as {records: JournalRecord[]}).records;
}

function code({body}: Reply): string {
  return (body as {error: {code: string}}).error.code;
}

describe('POST schedule', () => {
  test('answers 201 with job_id alone; the job is pending with run_at, mutation and created_at', async () => {
    const before = Date.now();
    const {status, body} = await service.post(`${base}/schedule`, {run_after_ms: LATER_MS, mutation: insertion});
    const after = Date.now();
    expect({status, body}).toEqual({status: 201, body: {job_id: expect.stringMatching(/^[a-z0-9]{32}$/)}});
    const [job] = await pending();
    expect(job).toEqual({
      id: (body as {job_id: string}).job_id,
      run_at: job!.created_at + LATER_MS,
      mutation: insertion,
      created_at: expect.any(Number),
    });
    expect(job!.created_at).toBeGreaterThanOrEqual(before);
    expect(job!.created_at).toBeLessThanOrEqual(after);
    expect(await documents()).toEqual([]);
  });

  test.each<[string, (id: string) => Mutation, object[]]>([
    ['insert', () => ({...insertion, fields: {a: {b: [1, null]}}}), [{n: 0}, {a: {b: [1, null]}}]],
    ['insert with an id of its own', () => ({...insertion, id: 'mine-1'}), [{n: 0}, {_id: 'mine-1', n: 1}]],
    ['update', id => ({type: 'update', table: 't', id, patch: {m: 2}}), [{n: 0, m: 2}]],
    ['delete', id => ({type: 'delete', table: 't', id}), []],
  ])('runs an %s: outcome completed, error null, the mutation as it was given', async (_, mutationOf, then) => {
    const {body} = await service.post(`${base}/documents`, {table: 't', fields: {n: 0}});
    const mutation = mutationOf((body as {id: string}).id);
    const id = await schedule(mutation, 1);
    const done = await result(id);
    expect(done).toEqual({
      id,
      run_at: expect.any(Number),
      finished_at: expect.any(Number),
      mutation,
      outcome: 'completed',
      error: null,
    });
    expect(done.finished_at).toBeGreaterThanOrEqual(done.run_at);
    const left = await documents();
    expect(left).toMatchObject(then);
    expect(left).toHaveLength(then.length);
    expect(await pending()).toEqual([]);
  });

  test('unknown fields are ignored, and not kept', async () => {
    const body = {run_after_ms: LATER_MS, mutation: {...insertion, priority: 1}, note: 'x'};
    expect((await service.post(`${base}/schedule`, body)).status).toBe(201);
    expect((await pending())[0]!.mutation).toEqual(insertion);
  });

  test('with an Idempotency-Key it is scheduled once', async () => {
    const body = {run_after_ms: LATER_MS, mutation: insertion};
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(await service.post(`${base}/schedule`, body, {'idempotency-key': 'k'}));
    expect(new Set(replies.map(({status, text}) => `${status} ${text}`)).size).toBe(1);
    expect(await pending()).toHaveLength(1);
  });

  test('run_after_ms may be any time of ten years', async () => {
    for (const run_after_ms of [0, 0.5, LATER_MS, RUN_AFTER_MS_MAX]) {
      expect((await service.post(`${base}/schedule`, {run_after_ms, mutation: insertion})).status).toBe(201);
    }
  });

  test.each<[string, unknown]>([
    ['no body', undefined],
    ['no JSON', 'not json'],
    ['an array', []],
    ['no mutation', {run_after_ms: 0}],
    ['no run_after_ms', {mutation: insertion}],
    ['run_after_ms a string', {run_after_ms: '0', mutation: insertion}],
    ['run_after_ms negative', {run_after_ms: -1, mutation: insertion}],
    ['run_after_ms beyond ten years', {run_after_ms: RUN_AFTER_MS_MAX + 1, mutation: insertion}],
    ['run_after_ms null', {run_after_ms: null, mutation: insertion}],
    ['a mutation without type', {run_after_ms: 0, mutation: {table: 't', fields: {}}}],
    ['a query: only mutations can be scheduled', {run_after_ms: 0, mutation: {type: 'query', table: 't', filters: []}}],
    ['an insert without fields', {run_after_ms: 0, mutation: {type: 'insert', table: 't'}}],
    ['an insert without table', {run_after_ms: 0, mutation: {type: 'insert', fields: {}}}],
    ['an insert into a table that cannot be', {run_after_ms: 0, mutation: {...insertion, table: 'a b'}}],
    ['an insert of a system field', {run_after_ms: 0, mutation: {...insertion, fields: {_id: 'x'}}}],
    ['an insert with an empty id', {run_after_ms: 0, mutation: {...insertion, id: ''}}],
    ['an insert with a slash in its id', {run_after_ms: 0, mutation: {...insertion, id: 'a/b'}}],
    ['an insert with an id of 129 characters', {run_after_ms: 0, mutation: {...insertion, id: 'x'.repeat(129)}}],
    ['an update without id', {run_after_ms: 0, mutation: {type: 'update', table: 't', patch: {}}}],
    ['an update without patch', {run_after_ms: 0, mutation: {type: 'update', table: 't', id: 'x'}}],
    [
      'an update of a system field',
      {run_after_ms: 0, mutation: {type: 'update', table: 't', id: 'x', patch: {_id: 'y'}}},
    ],
    ['a delete without id', {run_after_ms: 0, mutation: {type: 'delete', table: 't'}}],
  ])('is 400 op.invalid_input, and nothing is scheduled: %s', async (_, body) => {
    const reply = await service.post(`${base}/schedule`, body);
    expect([reply.status, code(reply)]).toEqual([400, 'op.invalid_input']);
    expect(await pending()).toEqual([]);
    isUnused = true;
  });

  test('a document beyond 1 MiB is 413 op.too_large when it is scheduled', async () => {
    const mutation = {...insertion, fields: {text: 'x'.repeat(1024 * 1024)}};
    const reply = await service.post(`${base}/schedule`, {run_after_ms: 0, mutation});
    expect([reply.status, code(reply)]).toEqual([413, 'op.too_large']);
  });
});

describe('GET schedule', () => {
  test('lists what is pending, the next one first', async () => {
    const ids = [await schedule(insertion, 3 * LATER_MS), await schedule(insertion, LATER_MS)];
    ids.push(await schedule(insertion, 2 * LATER_MS));
    expect((await pending()).map(job => job.id)).toEqual([ids[1], ids[2], ids[0]]);
  });

  nightly.test('is 413 op.too_large when the jobs take more than 16 MiB, whatever their characters', async () => {
    const mutation = {...insertion, fields: {text: '€'.repeat(349_000)}};
    for (let n = 0; n < 21; n++) await schedule(mutation, LATER_MS);
    const reply = await service.get(`${base}/schedule`);
    expect([reply.status, code(reply)]).toEqual([413, 'op.too_large']);
  });
});

describe('GET schedule in pages', () => {
  const page = async (query: string) => {
    const {status, body, text} = await service.get(`${base}/schedule?${query}`);
    if (status !== 200) throw new Error(text);
    return body as {jobs: PendingJob[]; next_cursor: string | null};
  };
  /** Ids, page by page. */
  async function walk(limit: number, onPage: () => Promise<void> = async () => {}): Promise<string[][]> {
    const pages: string[][] = [];
    for (let cursor: string | null = null; ; await onPage()) {
      const after: string = cursor === null ? '' : `&after=${encodeURIComponent(cursor)}`;
      const {jobs, next_cursor} = await page(`limit=${limit}${after}`);
      pages.push(jobs.map(job => job.id));
      cursor = next_cursor;
      if (cursor === null) return pages;
    }
  }

  test('says where the next page begins, null at the end; the pages are the list', async () => {
    expect(await page('limit=5')).toEqual({jobs: [], next_cursor: null});
    for (let n = 0; n < 7; n++) await schedule(insertion, LATER_MS - n * 1000);
    const whole = (await pending()).map(job => job.id);
    for (const [limit, sizes] of [
      [1, [1, 1, 1, 1, 1, 1, 1]],
      [3, [3, 3, 1]],
      [7, [7]],
      [1_000_000, [7]],
    ] as const) {
      const pages = await walk(limit);
      expect(pages.map(ids => ids.length)).toEqual(sizes);
      expect(pages.flat()).toEqual(whole);
    }
  });

  test('goes on behind a job that is cancelled meanwhile, and jobs of one time are all seen', async () => {
    const made = await Promise.all(Array.from({length: 20}, () => schedule(insertion, LATER_MS)));
    let cancelled = '';
    const pages = await walk(6, async () => {
      cancelled ||= (await pending())[5]!.id;
      await service.request('DELETE', `${base}/schedule/${cancelled}`);
    });
    expect(pages.flat().toSorted()).toEqual(made.toSorted());
  });

  nightly.test('ends before 16 MiB, so that jobs of any size can be found', async () => {
    const large = {...insertion, fields: {text: '€'.repeat(349_000)}};
    for (let n = 0; n < 20; n++) await schedule(large, LATER_MS);
    const pages = await walk(100);
    expect(pages.map(ids => ids.length)).toEqual([16, 4]);
    const refused = await service.get(`${base}/schedule`);
    expect((refused.body as {error: {message: string}}).error.message).toContain('?limit=');
  });

  test.each(['limit=0', 'limit=-1', 'limit=x', 'limit=', 'limit=1.5', 'after=', 'after=x', 'limit=1&after=12-x'])(
    '?%s is 400',
    async query => {
      const reply = await service.get(`${base}/schedule?${query}`);
      expect([reply.status, code(reply)]).toEqual([400, 'op.invalid_input']);
      isUnused = true;
    },
  );
});

describe('GET schedule/{job_id}', () => {
  test('is the pending job, as the list shows it; 404 op.not_found once it is not pending', async () => {
    const id = await schedule(insertion, LATER_MS);
    await schedule(insertion, LATER_MS);
    const {status, body} = await service.get(`${base}/schedule/${id}`);
    expect([status, body]).toEqual([200, {job: (await pending()).find(job => job.id === id)}]);
    await service.request('DELETE', `${base}/schedule/${id}`);
    for (const gone of [id, 'history', 'x']) {
      const reply = await service.get(`${base}/schedule/${gone}`);
      expect([reply.status, code(reply)]).toEqual([404, 'op.not_found']);
    }
  });
});

describe('DELETE schedule/{job_id}', () => {
  test('is 204: the job never runs, and has no history', async () => {
    const id = await schedule(insertion, 150);
    const {status, text} = await service.request('DELETE', `${base}/schedule/${id}`);
    expect([status, text]).toEqual([204, '']);
    await result(await schedule({...insertion, table: 'after'}, 200));
    expect(await documents()).toEqual([]);
    expect((await service.get(`${base}/schedule/history/${id}`)).status).toBe(404);
  });

  test('is 404 op.not_found for a job that was cancelled, ran, or never was', async () => {
    const cancelled = await schedule(insertion, LATER_MS);
    await service.request('DELETE', `${base}/schedule/${cancelled}`);
    const ran = await schedule(insertion);
    await result(ran);
    for (const id of [cancelled, ran, 'nothing', '%2e%2e']) {
      const reply = await service.request('DELETE', `${base}/schedule/${id}`);
      expect([reply.status, code(reply)]).toEqual([404, 'op.not_found']);
    }
    expect((await result(ran)).outcome).toBe('completed');
  });
});

describe('POST schedule/history/{job_id}/retry', () => {
  const retry = (id: string, headers = {}) => service.post(`${base}/schedule/history/${id}/retry`, undefined, headers);

  test('does the work of a failed job again as a new job, once with an Idempotency-Key', async () => {
    const failing = await schedule({type: 'update', table: 't', id: 'x', patch: {n: 2}});
    expect(await result(failing)).toMatchObject({outcome: 'failed'});
    await service.request('PUT', `${base}/documents/t/x`, {fields: {n: 1}});
    const first = await retry(failing, {'idempotency-key': 'again'});
    expect(first.status).toBe(201);
    expect((await retry(failing, {'idempotency-key': 'again'})).text).toBe(first.text);
    const {job_id: id} = first.body as {job_id: string};
    const {mutation} = await result(failing);
    expect(await result(id)).toMatchObject({id, outcome: 'completed', mutation});
    expect(await documents()).toMatchObject([{_id: 'x', n: 2}]);
  });

  test('is refused for a job that has completed, is pending or is not known', async () => {
    const done = await schedule(insertion);
    expect(await result(done)).toMatchObject({outcome: 'completed'});
    const refused = await retry(done);
    expect([refused.status, code(refused)]).toEqual([409, 'op.conflict']);
    for (const id of [await schedule(insertion, LATER_MS), 'none']) expect((await retry(id)).status).toBe(404);
  });
});

describe('GET schedule/history/{job_id}', () => {
  test('is 404 op.not_found for a pending job and for none', async () => {
    for (const id of [await schedule(insertion, LATER_MS), 'nothing']) {
      const reply = await service.get(`${base}/schedule/history/${id}`);
      expect([reply.status, code(reply)]).toEqual([404, 'op.not_found']);
    }
  });

  test.each<[string, object, string]>([
    ['an update of a document that is gone', {type: 'update', table: 't', id: 'gone', patch: {}}, 'op.not_found'],
    ['a delete of a document that is gone', {type: 'delete', table: 't', id: 'gone'}, 'op.not_found'],
    ['an insert under an id that is taken', {...insertion, table: 'other', id: 'taken'}, 'op.conflict'],
    ['an insert that a schema refuses', {...insertion, table: 'strict'}, 'op.schema_violation'],
  ])('says failed with the error of %s; nothing is written and it is not tried again', async (_, mutation, why) => {
    await result(await schedule({...insertion, id: 'taken'}));
    const fields = [{name: 'n', field_type: 'string', required: true}];
    await service.request('PUT', `${base}/schema/strict`, {table: 'strict', fields, indexes: []});
    const before = await documents();
    const id = await schedule(mutation);
    const failed = await result(id);
    expect(failed).toMatchObject({id, mutation, outcome: 'failed', error: expect.stringContaining(`${why}: `)});
    const last = (await journal()).at(-1)!;
    expect(last).toMatchObject({events: [{type: 'job.failed', id}], writes: [], scheduled_execution_id: id});
    await result(await schedule({...insertion, table: 'after'}, 50));
    expect(await result(id)).toEqual(failed);
    expect(await documents()).toEqual(before);
    expect(await pending()).toEqual([]);
  });
});

describe('the journal', () => {
  test('has scheduled_execution_id on the record of the run alone, with its effect', async () => {
    const id = await schedule({...insertion, id: 'made'});
    await result(id);
    const cancelled = await schedule(insertion, LATER_MS);
    await service.request('DELETE', `${base}/schedule/${cancelled}`);
    await service.post(`${base}/documents`, {table: 't', fields: {}});
    const records = await journal();
    expect(records.map(record => [record.events.map(({type}) => type), record.scheduled_execution_id])).toEqual([
      [['job.scheduled'], null],
      [['document.inserted', 'job.completed'], id],
      [['job.scheduled'], null],
      [['job.cancelled'], null],
      [['document.inserted'], null],
    ]);
    expect(records[1]!.writes).toMatchObject([{op: 'insert', id: 'made'}]);
    const {body} = await service.get(`${base}/journal/bootstrap`);
    expect((body as {snapshot: object}).snapshot).toMatchObject({scheduled_execution_ids: [id]});
  });

  test('shows overdue jobs run in the order of their times', async () => {
    const marks = [90, 30, 60, 0];
    const ids = await Promise.all(marks.map(n => schedule({...insertion, fields: {n}}, n + 100)));
    const results = await Promise.all(ids.map(result));
    // Delays count from when each request arrived, which is not when it was sent.
    const inOrder = results.toSorted((one, other) => one.run_at - other.run_at || (one.id < other.id ? -1 : 1));
    const marked = inOrder.map(({mutation}) => (mutation as {fields: {n: number}}).fields.n);
    expect((await documents()).map(document => document.n)).toEqual(marked);
  });
});

describe('every schedule route', () => {
  test.each([
    ['POST', '/schedule'],
    ['GET', '/schedule'],
    ['DELETE', '/schedule/x'],
    ['GET', '/schedule/history/x'],
    ['POST', '/crons'],
    ['GET', '/crons'],
    ['DELETE', '/crons/x'],
  ])('%s %s wants a credential, then a tenant that exists', async (method, path) => {
    const body = method === 'POST' ? {} : undefined;
    const without = await service.request(method, `${base}${path}`, body, {authorization: undefined});
    expect([without.status, code(without)]).toEqual([401, 'auth.unauthorized']);
    const elsewhere = await service.request(method, `/api/tenants/nobody${path}`, body);
    expect([elsewhere.status, code(elsewhere)]).toEqual([404, 'session.tenant_not_found']);
  });
});
