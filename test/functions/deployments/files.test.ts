/** The files of deployments, and what differs between two of them. */
import {expect, test} from 'vitest';
import type {DeploymentFileText} from '../../../shared/protocol/functions.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App, uploadOf} from '../app.ts';

const service = await sharedService();

const send = (text: string) => `
  import {mutation} from './_generated/server';
  export const send = mutation(ctx => ctx.db.insert('notes', {text: '${text}'}));`;
const list = `
  import {query} from './_generated/server';
  export const list = query(ctx => ctx.db.query('notes').collect());`;

async function deployed(app: App, files: Record<string, string>, sources?: {path: string; text: string}[]) {
  const {status, body} = await app.admin('POST', '/deployments', {...(await uploadOf(files)), sources});
  expect(status).toBe(201);
  return (body as {id: number}).id;
}

test('a deployment has its original sources and its bundle, and shows what differs from another', async () => {
  const app = await App.empty(service);
  const first = await deployed(app, {'a.ts': send('one'), 'b.ts': list}, [
    {path: 'svc/a.ts', text: send('one')},
    {path: 'svc/b.ts', text: list},
  ]);
  const second = await deployed(app, {'a.ts': send('two'), 'c.ts': list}, [
    {path: 'svc/a.ts', text: send('two')},
    {path: 'svc/c.ts', text: `${list}\n// é`},
  ]);
  const {files} = (await app.admin('GET', `/deployments/${second}/files`)).body as {files: unknown[]};
  expect(files).toMatchObject([
    {path: 'svc/a.ts', kind: 'source', bytes: send('two').length},
    {path: 'svc/c.ts', kind: 'source', bytes: list.length + 6},
    ...(files as {kind: string}[]).slice(2).map(() => ({kind: 'bundle'})),
  ]);
  const read = async (id: number, path: string) =>
    (await app.admin('GET', `/deployments/${id}/files/${encodeURIComponent(path)}`)).body as DeploymentFileText;
  expect(await read(first, 'svc/a.ts')).toMatchObject({path: 'svc/a.ts', kind: 'source', text: send('one')});
  expect(await read(second, 'a.js')).toMatchObject({kind: 'bundle', text: expect.stringContaining('"two"')});

  const {body} = await app.admin('GET', `/deployments/${first}/diff/${second}`);
  const diff = body as {files: {kind: string}[]};
  expect(diff).toMatchObject({
    from: first,
    to: second,
    functions: [
      {path: 'a:send', change: 'changed'},
      {path: 'c:list', change: 'added'},
      {path: 'b:list', change: 'removed'},
    ],
  });
  expect(diff.files.filter(({kind}) => kind === 'source')).toEqual([
    {
      path: 'svc/a.ts',
      kind: 'source',
      change: 'changed',
      bytes_before: send('one').length,
      bytes_after: send('two').length,
    },
    {path: 'svc/b.ts', kind: 'source', change: 'removed', bytes_before: list.length, bytes_after: null},
    {path: 'svc/c.ts', kind: 'source', change: 'added', bytes_before: null, bytes_after: list.length + 6},
  ]);
  expect((await app.admin('GET', `/deployments/${second}/diff/${second}`)).body).toMatchObject({
    files: [],
  });
});

test('a source does not hide the file of the bundle that has its path', async () => {
  const app = await App.empty(service);
  const id = await deployed(app, {'a.ts': send('one')}, [{path: 'a.js', text: '// harmless'}]);
  const read = async (query: string) => (await app.admin('GET', `/deployments/${id}/files/a.js${query}`)).body;
  for (const query of ['', '?kind=source']) expect(await read(query)).toMatchObject({text: '// harmless'});
  expect(await read('?kind=bundle')).toMatchObject({kind: 'bundle', text: expect.stringContaining('"one"')});
  expect(await read('?kind=map')).toMatchObject({error: {code: 'op.invalid_input'}});
});

test('a diff has the schema, its indexes, routes, and the variables that the code reads', async () => {
  const app = await App.empty(service);
  const schema = (fields: string, index: string) => `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({notes: defineTable({${fields}}).index('by_text', [${index}])});`;
  const http = `
    import {httpRouter} from 'svc/server';
    import {httpAction} from './_generated/server';
    const http = httpRouter();
    http.route({path: '/hook', method: 'POST', handler: httpAction(async () => new Response(process.env.SECRET))});
    export default http;`;
  const first = await deployed(app, {'schema.ts': schema('text: v.string()', "'text'"), 'b.ts': list});
  const second = await deployed(
    app,
    {
      'schema.ts': schema('text: v.string(), at: v.optional(v.number())', "'text', 'at'"),
      'http.ts': http,
      'b.ts': list,
    },
    [{path: 'svc/http.ts', text: `${http} const {OTHER: other = ''} = process.env; process.env["THIRD"];`}],
  );
  expect((await app.admin('GET', `/deployments/${first}/diff/${second}`)).body).toMatchObject({
    tables: [{name: 'notes', change: 'changed'}],
    indexes: [{table: 'notes', name: 'by_text', fields: ['text', 'at'], change: 'changed'}],
    routes: [{method: 'POST', path: '/hook', change: 'added'}],
    auth_providers: [],
    variables: [
      {name: 'OTHER', change: 'added'},
      {name: 'SECRET', change: 'added'},
      {name: 'THIRD', change: 'added'},
    ],
  });
});

test('a client that sends no sources deploys as before', async () => {
  const app = await App.empty(service);
  const id = await deployed(app, {'a.ts': send('one')});
  const {files} = (await app.admin('GET', `/deployments/${id}/files`)).body as {files: {kind: string}[]};
  expect(files.map(({kind}) => kind)).not.toContain('source');
  expect(await app.mutation('a:send', {})).toEqual(expect.any(String));
});

test.each([
  ['above the project', [{path: '../a.ts', text: ''}]],
  [
    'twice the same',
    [
      {path: 'a.ts', text: '1'},
      {path: 'a.ts', text: '2'},
    ],
  ],
  ['too large', [{path: 'a.ts', text: 'x'.repeat(8 * 1024 * 1024 + 1)}]],
])('sources that are %s are refused', async (_, sources) => {
  const app = await App.empty(service);
  const {status, body} = await app.admin('POST', '/deployments', {...(await uploadOf({'a.ts': list})), sources});
  expect([status, (body as {error: {code: string}}).error.code]).toEqual([400, 'op.invalid_input']);
});
