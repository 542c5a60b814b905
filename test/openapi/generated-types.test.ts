/**
 * What openapi-typescript makes of the document that a server sends: an app that was written with these types compiles and runs,
 * and its mistakes do not compile.
 */
import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {DocsProject, PROCESS_TYPES, SCRIPT_OPTIONS} from '../harness/docs-project.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const folder = fileURLToPath(new URL('generator', import.meta.url));
const GENERATOR = join(folder, 'node_modules/openapi-typescript/bin/cli.js');

/** Paths, bodies and answers are those of the document: no more is said here than how a request is sent. */
const APP = `
import type {components, paths} from './svc.ts';

type Schemas = components['schemas'];
type JsonOf<Message> = Message extends {content: {'application/json': infer Body}} ? Body : never;
type Method = 'get' | 'post' | 'put' | 'patch';
type Operations = {[Path in keyof paths]: {[M in Method]: paths[Path][M]}};
type BodyOf<Operation> = Operation extends {requestBody: infer Body} ? JsonOf<Body> : undefined;
type Answers<Operation> = Operation extends {responses: infer All} ? All : never;
type AnswerOf<Operation> = JsonOf<Answers<Operation>[keyof Answers<Operation> & (200 | 201)]>;

async function call<Path extends keyof paths, M extends Method>(
  method: M,
  path: Path,
  values: Record<string, string>,
  body: BodyOf<Operations[Path][M]>,
): Promise<AnswerOf<Operations[Path][M]>> {
  const url = process.env.URL + path.replace(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(values[name]!));
  const reply = await fetch(url, {
    method: method.toUpperCase(),
    headers: {authorization: 'Bearer ' + process.env.TOKEN, 'content-type': 'application/json'},
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(method + ' ' + path + ': ' + text);
  return JSON.parse(text === '' ? 'null' : text);
}

const TENANT = '/api/tenants/{tenant_id}';
const tenant_id = process.env.TENANT!;

const {id} = await call('post', \`\${TENANT}/documents\`, {tenant_id}, {
  table: 'people',
  fields: {email: 'a@example.com', age: 41, tags: ['x'], home: {city: 'Bern'}},
});
const at = {tenant_id, table: 'people', document_id: id};
await call('patch', \`\${TENANT}/documents/{table}/{document_id}\`, at, {
  patch: {home: {city: 'Chur'}},
  increment: {age: 1},
  append: {tags: ['y', 5]},
});
const query: Schemas['QueryObject'] = {
  table: 'people',
  filters: [
    {field: 'age', op: 'gte', value: 42},
    {or: [{field: 'home.city', op: 'eq', value: 'Chur'}, [{field: 'tags', op: 'contains', value: 'z'}]]},
  ],
  order: [{field: 'age', direction: 'desc'}],
  limit: 10,
};
const {data} = await call('post', \`\${TENANT}/query\`, {tenant_id}, query);
const [first] = data;
const found: string = first!._id;
const made: number = first!._creationTime ?? 0;
const {results} = await call('post', \`\${TENANT}/transactions\`, {tenant_id}, {
  operations: [
    {type: 'insert', table: 'people', fields: {email: 'b@example.com', age: 1}},
    {type: 'insert', table: 'people', fields: {email: 'c@example.com', age: 2, friend: {$ref: 0}}},
    {type: 'patch', table: 'people', id, patch: {friend: {$ref: 1}}},
  ],
});
const {fields} = await call('get', \`\${TENANT}/schema/{table}\`, {tenant_id, table: 'people'}, undefined);
const names: string[] = fields.map(({name}) => name);
console.log(JSON.stringify({isSame: found === id, isTime: made > 0, age: first!.age, results: results.length, names}));
`;

/** Never called: the compiler reads it. */
const MISTAKES = `
export async function mistakes() {
  // @ts-expect-error a document has fields
  await call('post', \`\${TENANT}/documents\`, {tenant_id}, {table: 'people'});
  // @ts-expect-error no such member
  await call('post', \`\${TENANT}/documents\`, {tenant_id}, {table: 'people', fields: {}, id: 'a'});
  // @ts-expect-error no such path
  await call('post', \`\${TENANT}/document\`, {tenant_id}, {table: 'people', fields: {}});
  // @ts-expect-error a number is added
  await call('patch', \`\${TENANT}/documents/{table}/{document_id}\`, at, {increment: {age: '1'}});
  // @ts-expect-error lists are appended
  await call('patch', \`\${TENANT}/documents/{table}/{document_id}\`, at, {append: {tags: 'y'}});
  // @ts-expect-error no such change
  await call('patch', \`\${TENANT}/documents/{table}/{document_id}\`, at, {set: {age: 1}});
  const filter = (one: Schemas['Filter']) => one;
  filter({field: 'age', op: 'eq', value: 1});
  // @ts-expect-error no such operator
  filter({field: 'age', op: 'like', value: 1});
  // @ts-expect-error no field
  filter({op: 'eq', value: 1});
  // @ts-expect-error no value
  filter({field: 'age', op: 'eq'});
  // @ts-expect-error no filter
  filter(5);
  // @ts-expect-error no such operator in an alternative
  filter({or: [{field: 'age', op: 'like', value: 1}]});
  // @ts-expect-error no such direction
  await call('post', \`\${TENANT}/query\`, {tenant_id}, {table: 'people', filters: [], order: {field: 'age', direction: 'up'}});
  // @ts-expect-error no such type of operation
  await call('post', \`\${TENANT}/transactions\`, {tenant_id}, {operations: [{type: 'add', table: 'people', fields: {}}]});
  // @ts-expect-error an id is text
  const wrong: number = data[0]!._id;
  return wrong;
}
`;

const service = await sharedService();
let project: DocsProject;
beforeAll(async () => {
  project = new DocsProject([], {compilerOptions: SCRIPT_OPTIONS, include: ['*.ts']});
});
afterAll(async () => {
  project.remove();
});
beforeEach(() => service.showLogOnFailure());

test('types that a generator makes of the document take what the service takes, and nothing else', async () => {
  const tenant = await Tenant.make(service);
  const name = (one: string, field_type: string) => ({name: one, field_type, required: false});
  await tenant.putSchema('people', [name('email', 'string'), name('age', 'number')], []);
  await promisify(execFile)(process.execPath, [GENERATOR, `${service.url}/api/openapi.json`, '-o', 'svc.ts'], {
    cwd: project.directory,
  });
  project.write('process.d.ts', PROCESS_TYPES);
  project.write('app.ts', APP + MISTAKES);
  expect(await project.typeErrors()).toBe('');
  const env = {PATH: process.env.PATH, URL: service.url, TOKEN: service.accessToken, TENANT: tenant.id};
  const [said] = await project.script('app.ts', env);
  expect(JSON.parse(said!)).toEqual({isSame: true, isTime: true, age: 42, results: 3, names: ['email', 'age']});
});
