/** A tenant that has something of everything. */
import type {App} from '../../functions/app.ts';
import {until} from '../../harness/until.ts';

export const FUNCTIONS = {
  'm.ts': `
    import {v} from 'svc/values';
    import {action, internalMutation, mutation, paginatedQuery, query} from './_generated/server';
    export const all = query({args: {table: v.optional(v.string())}, returns: v.array(v.any()),
      handler: ctx => ctx.db.query('notes').collect()});
    export const page = paginatedQuery((ctx, args) => ctx.db.query('notes').paginate(args.paginationOpts));
    export const add = mutation({
      args: {text: v.union(v.string(), v.literal(7)), by: v.optional(v.id('notes')), tags: v.optional(v.array(v.boolean()))},
      handler: async (ctx, {text}) => { console.log('adding'); return await ctx.db.insert('notes', {text: String(text)}); },
    });
    export const boom = query({args: {}, handler: () => { throw new Error('boom'); }});
    export const shout = action({args: {}, handler: async () => 'HEY'});
    export const note = internalMutation({args: {}, handler: async ctx => { await ctx.db.insert('notes', {text: 'later'}); }});`,
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({notes: defineTable({text: v.string()}).index('by_text', ['text'])});`,
  'http.ts': `
    import {httpRouter} from 'svc/server';
    import {httpAction} from './_generated/server';
    const http = httpRouter();
    http.route({path: '/tea', method: 'POST', handler: httpAction(async (_, request) =>
      new Response(await request.text(), {status: 418, headers: {'content-type': 'text/tea'}}))});
    http.route({path: '/', method: 'GET', handler: httpAction(async () => new Response('root'))});
    export default http;`,
};

export const SETTINGS = {egress: {allow: ['a.example'], deny: []}, allowed_origins: ['https://app.example']};
export const INSERT = {type: 'insert', table: 'cities', fields: {name: 'job'}};
export const FAILS = {type: 'delete', table: 'cities', id: 'none'};
export const MINUTES = 600_000;

export async function expectStatus(reply: Promise<{status: number; text: string}>, status: number): Promise<void> {
  const {status: got, text} = await reply;
  if (got !== status) throw new Error(`expected ${status}: ${got} ${text}`);
}

/** Makes something of everything: the journal has every event, and lists have entries with and without what may be null. */
export async function filled(app: App): Promise<void> {
  await expectStatus(app.admin('PUT', '/env/KEY', {value: 'secret'}), 204);
  await expectStatus(app.admin('PUT', '/env/GONE', {value: ''}), 204);
  await expectStatus(app.admin('DELETE', '/env/GONE'), 204);
  await expectStatus(app.admin('PUT', '/settings', SETTINGS), 204);
  await app.deploy(FUNCTIONS);
  await app.deploy({
    ...FUNCTIONS,
    'more.ts': `import {query} from './_generated/server'; export default query(() => 1);`,
  });
  const city = await insertCity(app);
  await expectStatus(app.admin('PATCH', `/documents/cities/${city}`, {patch: {n: 2}}), 200);
  await expectStatus(app.admin('DELETE', `/documents/cities/${await insertCity(app)}`), 204);
  const fields = [{name: 'name', field_type: 'string', required: true}];
  const indexes = [{name: 'by_name', fields: ['name']}];
  await expectStatus(app.admin('PUT', '/schema/cities', {table: 'cities', fields, indexes}), 204);
  await expectStatus(app.admin('PUT', '/schema/gone', {table: 'gone', fields}), 204);
  await expectStatus(app.admin('DELETE', '/schema/gone'), 204);
  await expectStatus(app.admin('DELETE', `/schedule/${await schedule(app, MINUTES)}`), 204);
  await schedule(app, MINUTES);
  await finished(app, await schedule(app, 0));
  await finished(app, await schedule(app, 0, FAILS));
  await expectStatus(app.admin('POST', '/functions/run', {path: 'm:add', args: {text: 'a'}}), 200);
  await expectStatus(app.svc('POST', '/schedule/run_after', {path: 'm:add', args: {text: 'b'}, delayMs: MINUTES}), 200);
  for (const [name, mutation] of [
    ['gone', INSERT],
    ['good', INSERT],
    ['bad', FAILS],
  ] as const) {
    await expectStatus(app.admin('POST', '/crons', {name, schedule: {type: 'interval', seconds: 1}, mutation}), 201);
  }
  await expectStatus(app.admin('DELETE', '/crons/gone'), 204);
  await until('the crons to have run', async () => {
    const {crons} = (await app.admin('GET', '/crons')).body as {crons: {last_run: number | null}[]};
    return crons.every(cron => cron.last_run !== null);
  });
  await expectStatus(app.admin('POST', '/crons', cron('later')), 201);
}

export async function insertCity(app: App): Promise<string> {
  return ((await app.admin('POST', '/documents', {table: 'cities', fields: {name: 'Oslo'}})).body as {id: string}).id;
}

export async function schedule(app: App, runAfterMs: number, mutation: object = INSERT): Promise<string> {
  const {body} = await app.admin('POST', '/schedule', {run_after_ms: runAfterMs, mutation});
  return (body as {job_id: string}).job_id;
}

export async function finished(app: App, job: string): Promise<string> {
  await until('the job to have run', async () => (await app.admin('GET', `/schedule/history/${job}`)).status === 200);
  return job;
}

export function cron(name: string) {
  return {name, schedule: {type: 'interval', seconds: MINUTES}, mutation: INSERT};
}
