/** What activating a deployment would do, before it is done. */
import {expect, test} from 'vitest';
import type {ActivationPreview} from '../../../shared/protocol/functions.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App, uploadOf} from '../app.ts';

const service = await sharedService();

const schema = (type: string, index = '') => `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({notes: defineTable({text: v.${type}()})${index}});`;
const note = `
  import {mutation} from './_generated/server';
  export const add = mutation(ctx => ctx.db.insert('notes', {text: process.env.GREETING ?? 'hello'}));`;

async function deploy(app: App, files: Record<string, string>): Promise<void> {
  expect((await app.admin('POST', '/deployments', await uploadOf(files))).status).toBe(201);
}

async function preview(app: App, id: number): Promise<ActivationPreview> {
  const {status, body} = await app.admin('GET', `/deployments/${id}/preview`);
  expect(status).toBe(200);
  return body as ActivationPreview;
}

test('it names the indexes to fill, and jobs, crons and variables that do not fit; nothing changes', async () => {
  const app = await App.empty(service);
  await deploy(app, {'schema.ts': schema('any', ".index('by_text', ['text'])"), 'old.ts': note});
  await deploy(app, {'schema.ts': schema('any'), 'new.ts': note});
  for (const text of ['a', 'b']) await app.admin('POST', '/documents', {table: 'notes', fields: {text}});
  const later = {path: 'new:add', args: {}, delayMs: 3_600_000};
  for (let i = 0; i < 2; i++) expect((await app.svc('POST', '/schedule/run_after', later)).status).toBe(200);
  const before = (await app.admin('GET', '/deployments')).body;
  expect(await preview(app, 1)).toEqual({
    deployment: 1,
    active: 2,
    errors: [],
    changes: {tables: {declared: [], undeclared: []}, indexes: {added: ['notes.by_text (text)'], dropped: []}},
    builds: [{table: 'notes', name: 'by_text', fields: ['text'], documents: 2}],
    missing_functions: [{path: 'new:add', jobs: 2}],
    failing_crons: [],
    missing_variables: ['GREETING'],
  });
  expect((await app.admin('GET', '/deployments')).body).toEqual(before);
  await app.admin('PUT', '/env/GREETING', {value: 'hi'});
  expect((await preview(app, 1)).missing_variables).toEqual([]);
});

test('it has the errors of the activation, and the crons whose documents its schema refuses', async () => {
  const app = await App.empty(service);
  await deploy(app, {'schema.ts': schema('string')});
  await deploy(app, {'schema.ts': schema('any')});
  expect((await app.admin('POST', '/documents', {table: 'notes', fields: {text: 7}})).status).toBe(201);
  const cron = {
    name: 'hourly',
    schedule: {type: 'interval', seconds: 3_600},
    mutation: {type: 'insert', table: 'notes', fields: {text: 8}},
  };
  expect((await app.admin('POST', '/crons', cron)).status).toBe(201);
  const {errors, builds, failing_crons: crons} = await preview(app, 1);
  const refused = await app.admin('POST', '/deployments/1/activate');
  expect(refused).toMatchObject({status: 400, body: {error: {detail: {errors}}}});
  expect(errors).toHaveLength(1);
  expect(builds).toEqual([]);
  expect(crons).toEqual([{name: 'hourly', message: expect.stringContaining('text')}]);
  expect(await app.admin('GET', '/deployments/9/preview')).toMatchObject({status: 404});
});
