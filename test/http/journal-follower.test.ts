import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import type {DeploymentUpload} from '../../shared/protocol/functions.ts';
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import type {PendingJob} from '../../shared/protocol/schedule.ts';
import {follow, state} from '../harness/follower.ts';
import {bootstrap, checkChain, journalAfter} from '../harness/journal.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let tenant: Tenant;
let uploads: DeploymentUpload[];
beforeAll(async () => {
  uploads = [await bundled('items: defineTable({n: v.number()}).index("by_n", ["n"])'), await bundled('')];
});
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

/** An app with one mutation, and a schema of these tables. */
async function bundled(tables: string): Promise<DeploymentUpload> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-app-'));
  try {
    mkdirSync(join(directory, 'svc'));
    writeFileSync(join(directory, 'svc.json'), '{}');
    writeFileSync(
      join(directory, 'svc/schema.ts'),
      `import {defineSchema, defineTable} from 'svc/server';\nimport {v} from 'svc/values';\nexport default defineSchema({${tables}});\nexport const used = [defineTable, v];\n`,
    );
    writeFileSync(
      join(directory, 'svc/work.ts'),
      `import {mutationGeneric as mutation} from 'svc/server';
export const add = mutation(async ({db}, {n}) => { await db.insert('items', {n}); });
export const later = mutation(async ({scheduler}, {ms}) => { await scheduler.runAfter(ms, 'work:add', {n: ms}); });
export const much = mutation(async ({db, scheduler}) => {
  for (let i = 0; i < 15; i++) await db.insert('big', {text: 'x'.repeat(1_000_000)});
  for (let i = 0; i < 4; i++) await scheduler.runAfter(3_600_000, 'work:add', {n: 1, text: 'y'.repeat(3_900_000)});
});
`,
    );
    return await bundleProject(directory);
  } finally {
    rmSync(directory, {recursive: true});
  }
}

const HOUR_MS = 3_600_000;
const insertion = {type: 'insert', table: 'jobs', fields: {text: 'ü"\\', n: 1}};
const failing = {type: 'delete', table: 'jobs', id: 'nobody'};

/** The events of the newest record. */
async function latest(): Promise<JournalEvent[]> {
  return (await journalAfter(tenant, 0)).records.at(-1)!.events;
}

async function ok(method: string, path: string, body?: unknown): Promise<never> {
  const reply = await tenant.request(method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return reply.body;
}

describe('a record carries what it takes to replay it:', () => {
  test('schema.set the schema as GET shows it, but for the state of indexes, which a follower builds itself', async () => {
    const fields = [{name: 'n', field_type: 'number', required: true}];
    await tenant.putSchema('t', fields, [{name: 'by_n', fields: ['n']}]);
    const [event] = await latest();
    const shown = (await ok('GET', '/schema/t')) as {indexes: {id: string}[]};
    expect(event).toEqual({
      type: 'schema.set',
      table: 't',
      schema: {table: 't', fields, indexes: [{id: shown.indexes[0]!.id, name: 'by_n', fields: ['n']}]},
    });
    await ok('DELETE', '/schema/t');
    expect(await latest()).toEqual([{type: 'schema.deleted', table: 't'}]);
  });

  test('job.scheduled the pending job as GET shows it, and its end what its result says', async () => {
    const {job_id: id} = (await ok('POST', '/schedule', {run_after_ms: HOUR_MS, mutation: insertion})) as {
      job_id: string;
    };
    const {jobs} = (await ok('GET', '/schedule')) as {jobs: PendingJob[]};
    expect(await latest()).toEqual([{type: 'job.scheduled', id, job: jobs[0]}]);
    await ok('DELETE', `/schedule/${id}`);
    expect(await latest()).toEqual([{type: 'job.cancelled', id}]);
    for (const [mutation, outcome, error] of [
      [insertion, 'completed', null],
      [failing, 'failed', 'op.not_found: table "jobs" has no document "nobody"'],
    ] as const) {
      const {job_id: now} = (await ok('POST', '/schedule', {run_after_ms: 0, mutation})) as {job_id: string};
      const {body} = await until('the result', async () => {
        const reply = await tenant.request('GET', `/schedule/history/${now}`);
        return reply.status === 200 && reply;
      });
      const {finished_at} = (body as {result: {finished_at: number}}).result;
      expect((await latest()).at(-1)).toEqual({type: `job.${outcome}`, id: now, finished_at, error});
    }
  });

  test('cron.created the cron as GET shows it, cron.fired how the run ended and when the next one is', async () => {
    const cron = {name: 'c', schedule: {type: 'interval', seconds: 1}, mutation: failing};
    await ok('POST', '/crons', cron);
    const [created] = await latest();
    const fired = await until('a run', async () => {
      const {records} = await journalAfter(tenant, 1);
      return records[0]?.events[0];
    });
    await ok('DELETE', '/crons/c');
    expect(created).toMatchObject({type: 'cron.created', name: 'c', cron: {...cron, last_outcome: null, failures: 0}});
    const {created_at} = (created as Extract<JournalEvent, {type: 'cron.created'}>).cron;
    expect(fired).toEqual({
      type: 'cron.fired',
      name: 'c',
      last_run: expect.any(Number),
      next_run: expect.any(Number),
      outcome: 'failed',
      error: 'op.not_found: table "jobs" has no document "nobody"',
    });
    expect(((fired as {next_run: number}).next_run - created_at) % 1000).toBe(0);
    expect(await latest()).toEqual([{type: 'cron.deleted', name: 'c'}]);
  });

  test('deployment.activated what names its code, settings.changed the settings; of variables the name alone', async () => {
    await ok('PUT', '/env/KEY', {value: 'top-secret'});
    expect(await latest()).toEqual([{type: 'environment.set', name: 'KEY'}]);
    const settings = {egress: {allow: ['db.example'], deny: []}, allowed_origins: ['https://app.example']};
    await ok('PUT', '/settings', settings);
    expect(await latest()).toEqual([{type: 'settings.changed', settings}]);
    const {
      functions: _f,
      changes: _c,
      active,
      ...shown
    } = (await ok('POST', '/deployments', uploads[1])) as Record<string, unknown>;
    const activated = (await latest()).at(-1);
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect([active, activated]).toEqual([
      true,
      {
        type: 'deployment.activated',
        id: '1',
        deployment: {...shown, files: expect.arrayContaining([{path: 'work.js', sha256}])},
      },
    ]);
    const {text} = await tenant.request('GET', '/journal/bootstrap');
    expect(text).toContain('"environment":["KEY"]');
    expect(text + JSON.stringify((await journalAfter(tenant, 0)).records)).not.toContain('top-secret');
  });
});

nightly.test('a record of 30 MiB, a mutation and the jobs it made, reaches a follower', async () => {
  await ok('POST', '/deployments', uploads[1]);
  const {resume_after_sequence: after} = await bootstrap(tenant);
  // On a busy machine the answer may be to try again.
  await until('the mutation', async () => {
    const {status, body} = await tenant.request('POST', '/functions/run', {path: 'work:much', args: {}});
    return status === 200 && (body as {status: string}).status === 'success';
  });
  const {text, body} = await tenant.request('GET', `/journal?after=${after}`);
  expect(text.length).toBeGreaterThan(30_000_000);
  const {records, has_more} = body as {records: {events: unknown[]; writes: unknown[]}[]; has_more: boolean};
  expect([records.length, records[0]!.writes.length, records[0]!.events.length, has_more]).toEqual([1, 15, 19, false]);
});

nightly.test(
  'a page of the journal counts bytes: 12 documents of 1 MiB of 3-byte characters are more than one page',
  async () => {
    for (let n = 0; n < 12; n++) await tenant.insert('t', {text: '€'.repeat(349_000)});
    const {body, text} = await tenant.request('GET', '/journal');
    expect(body).toMatchObject({next_cursor: 8, has_more: true});
    expect(Buffer.byteLength(text)).toBeLessThan(9_000_000);
    expect((await journalAfter(tenant, 0)).records).toHaveLength(12);
  },
);

describe('bootstrap and the journal after it', () => {
  const table = fc.constantFrom('a', 'b', 'items');
  const name = fc.constantFrom('x', 'y');
  const operation = fc.oneof(
    {weight: 6, arbitrary: fc.record({do: fc.constant('insert' as const), table, n: fc.nat(9)})},
    {
      weight: 3,
      arbitrary: fc.record({do: fc.constantFrom('patch' as const, 'remove' as const), pick: fc.nat(), n: fc.nat(9)}),
    },
    {
      weight: 2,
      arbitrary: fc.record({do: fc.constantFrom('putSchema' as const, 'deleteSchema' as const), table, n: fc.nat(2)}),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('schedule' as const, 'cancel' as const),
        ms: fc.constantFrom(0, 5, HOUR_MS),
        pick: fc.nat(),
        fails: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({do: fc.constantFrom('cron' as const, 'deleteCron' as const), name, fails: fc.boolean()}),
    },
    {
      weight: 2,
      arbitrary: fc.record({do: fc.constantFrom('setEnv' as const, 'deleteEnv' as const, 'settings' as const), name}),
    },
    {weight: 1, arbitrary: fc.record({do: fc.constantFrom('deploy' as const, 'activate' as const), n: fc.nat(1)})},
    {weight: 1, arbitrary: fc.record({do: fc.constant('later' as const), n: fc.nat(20)})},
    {weight: 3, arbitrary: fc.record({do: fc.constant('rename' as const), table, to: fc.constantFrom('a', 'b', 'c')})},
    {weight: 1, arbitrary: fc.record({do: fc.constant('drop' as const), table})},
  );
  type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
  const ids: [table: string, id: string][] = [];
  const jobs: string[] = [];

  /** What the operation is refused for is not of interest here, only what the journal says of it. */
  async function perform(op: Operation): Promise<void> {
    const send = async (method: string, path: string, body?: unknown) => {
      const reply = await tenant.request(method, path, body);
      if (reply.status >= 500) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
      return reply;
    };
    switch (op.do) {
      case 'insert': {
        const {status, body} = await send('POST', '/documents', {table: op.table, fields: {n: op.n, '10': 1, '9': 2}});
        if (status === 201) ids.push([op.table, (body as {id: string}).id]);
        return;
      }
      case 'patch':
      case 'remove': {
        const [at, id] = ids[op.pick % ids.length] ?? ['a', 'nobody'];
        const method = op.do === 'patch' ? 'PATCH' : 'DELETE';
        await send(method, `/documents/${at}/${id}`, op.do === 'patch' ? {patch: {m: op.n}} : undefined);
        return;
      }
      case 'putSchema': {
        const indexes = [
          {name: 'by_n', fields: ['n']},
          {name: 'by_m', fields: ['m', 'n']},
        ].slice(op.n);
        const fields = [{name: 'n', field_type: op.n === 2 ? 'string' : 'number', required: false}];
        await send('PUT', `/schema/${op.table}`, {table: op.table, fields, indexes});
        return;
      }
      case 'deleteSchema':
        await send('DELETE', `/schema/${op.table}`);
        return;
      case 'schedule': {
        const reply = await send('POST', '/schedule', {run_after_ms: op.ms, mutation: op.fails ? failing : insertion});
        jobs.push((reply.body as {job_id: string}).job_id);
        return;
      }
      case 'cancel':
        await send('DELETE', `/schedule/${jobs[op.pick % jobs.length] ?? 'none'}`);
        return;
      case 'cron': {
        const mutation = op.fails ? failing : insertion;
        await send('POST', '/crons', {name: op.name, schedule: {type: 'interval', seconds: 1}, mutation});
        return;
      }
      case 'deleteCron':
        await send('DELETE', `/crons/${op.name}`);
        return;
      case 'setEnv':
        await send('PUT', `/env/${op.name}`, {value: 'v'});
        return;
      case 'deleteEnv':
        await send('DELETE', `/env/${op.name}`);
        return;
      case 'settings':
        await send('PUT', '/settings', {egress: {allow: [`${op.name}.example`], deny: []}, allowed_origins: null});
        return;
      case 'deploy':
        await send('POST', '/deployments', uploads[op.n]);
        return;
      case 'activate':
        await send('POST', `/deployments/${op.n + 1}/activate`);
        return;
      case 'rename':
        await send('POST', `/tables/${op.table}/rename`, {to: op.to});
        return;
      case 'drop':
        await send('DELETE', `/tables/${op.table}`);
        return;
      case 'later':
        await send('POST', '/functions/run', {path: 'work:later', args: {ms: op.n * 10}});
    }
  }

  test('are the whole state, whatever was done before and after the cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, {minLength: 1, maxLength: 6}), {minLength: 3, maxLength: 9}),
        async rounds => {
          tenant = await Tenant.make(service);
          ids.length = 0;
          jobs.length = 0;
          const cuts = [await bootstrap(tenant)];
          for (const operations of rounds) {
            const performed = operations.map(perform);
            cuts.push(await bootstrap(tenant));
            await Promise.all(performed);
          }
          // Whatever runs by itself comes to rest: one cron has run once more, then none is left to run soon.
          await until('a cron to run', async () => {
            const {crons} = (await ok('GET', '/crons')) as {crons: {last_run: number | null}[]};
            return crons.every(cron => cron.last_run !== null);
          });
          for (const cron of ['x', 'y']) await tenant.request('DELETE', `/crons/${cron}`);
          await ok('POST', '/crons', {name: 'z', schedule: {type: 'interval', seconds: 3600}, mutation: insertion});
          await until('what is due to have run', async () => {
            const {jobs: pending} = (await ok('GET', '/schedule')) as {jobs: PendingJob[]};
            return pending.every(job => job.run_at - job.created_at >= HOUR_MS);
          });
          await until('tasks to end', async () => {
            const {tasks} = (await ok('GET', '/tasks')) as {tasks: {state: string}[]};
            return tasks.every(task => task.state !== 'running');
          });
          const now = await state(tenant);
          for (const cut of [...cuts, await bootstrap(tenant)]) {
            const {records, texts} = await journalAfter(tenant, cut.resume_after_sequence);
            expect(follow(cut, records)).toEqual(now);
            if (cut.resume_after_sequence === 0) checkChain(texts);
          }
        },
      ),
      {numRuns: rounds({commit: 2, nightly: 16}), endOnFailure: true},
    );
  });
});
