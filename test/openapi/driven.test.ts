/**
 * A started server is asked for everything that its document describes, by nothing but the document; whatever it answers and the
 * document does not say is a fault.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {Dashboard} from '../harness/dashboard.ts';
import {backupArgs} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {ApiClient, type Asked} from './api-client.ts';
import type {Json, Operation, Parameter} from './api-document.ts';

/** What is there no more after them, beside what a DELETE takes away. */
const ENDING = ['sandboxes.stop', 'sessions.close', 'schedule.result', 'schedule.retry'];
/**
 * They come too late for what is over in a moment, and are refused: 409 or 404, as it is described. The example of a file is
 * none.
 */
const MAY_BE_LATE = ['tasks.cancel', 'live_queries.get', 'tenants.import'];
/** Refused with 409, because the server is no host of a cluster. */
const isOfCluster = (id: string) => id.startsWith('cluster.');
const mayBeRefused = (id: string) => MAY_BE_LATE.includes(id) || isOfCluster(id);
const OTHER_VALUES = [5, '?', {}, []];
const MUCH = 10 ** 15;
/** Of a body that are left out, and that are of another type: all of them are looked at in test/operations. */
const WRONG_MEMBERS = 3;

let service: Service;
let client: ApiClient;
beforeAll(async () => {
  service = await Service.start({args: await backupArgs(afterAll)});
  const {body} = await service.request('GET', '/api/openapi.json', undefined, {authorization: undefined});
  client = new ApiClient(body as Json, service.url, {access_token: service.accessToken});
});
afterAll(() => service.stop());
/** The API has sessions of the dashboard to list and end, and opens none. */
beforeEach(async () => void (await Dashboard.signedIn(service)));

function operations(): Operation[] {
  const all = client.document.operations;
  const isEnd = ({id, method}: Operation) => method === 'DELETE' || ENDING.includes(id);
  const first = client.document.operation('tenants.create');
  const rest = all.filter(one => one !== first && one.id !== 'tenants.delete');
  return [first, ...rest.filter(one => !isEnd(one)), ...rest.filter(isEnd)];
}

/** A job has a result when it has run, which those of the example do in an hour. */
async function finishedJob(change: Json = {}): Promise<void> {
  const create = client.document.operation('schedule.create');
  const asked = await client.asked(create);
  const body = {...(asked.body as Json), ...change, run_after_ms: 0};
  expect(await client.succeed(create, {...asked, body})).toEqual([]);
  const result = client.document.operation('schedule.result');
  for (let i = 0; i < 200 && (await client.ask(result, await client.asked(result))).status === 404; i++)
    await delay(25);
}

/** A tenant is restored from copies, which one that was never used has none of. */
async function copied(): Promise<void> {
  const insert = client.document.operation('documents.insert');
  expect((await client.ask(insert, await client.asked(insert))).status).toBe(201);
  expect((await service.request('POST', '/api/backup/run')).status).toBe(200);
}

const FAILING = {type: 'delete', table: 'people', id: 'of-nobody'};
let renamed = 0;

/** A job that has failed is retried. Others ask for the table of the examples: another one, made for it, gets another name. */
async function sandboxRequestOf(operation: Operation): Promise<Asked> {
  if (operation.id === 'schedule.retry') await finishedJob({mutation: FAILING});
  const asked = await client.asked(operation);
  if (operation.id !== 'tables.rename') return asked;
  const [table, to] = [`old_${++renamed}`, `new_${renamed}`];
  const insert = client.document.operation('documents.insert');
  const {status} = await client.ask(insert, {...(await client.asked(insert)), body: {table, fields: {}}});
  expect(status).toBe(201);
  return {...asked, path: {...asked.path, table}, body: {to}};
}

describe('by the document alone', () => {
  test('every operation is asked for, and answers what is described', async () => {
    const faults: string[] = [];
    for (const operation of operations()) {
      if (operation.id === 'schedule.result') await finishedJob();
      if (operation.id === 'tenants.restore') await copied();
      if (operation.id === 'dashboard.end') {
        await Dashboard.signedIn(service);
        client.forgetSource(operation);
      }
      if (mayBeRefused(operation.id)) faults.push(...(await client.tryIt(operation)));
      else faults.push(...(await client.succeed(operation, await sandboxRequestOf(operation))));
      if (operation.method === 'DELETE' || ENDING.includes(operation.id)) client.forgetSource(operation);
    }
    expect(faults).toEqual([]);
  });

  test('what takes an Idempotency-Key answers a repeated request with its first answer', async () => {
    const faults: string[] = [];
    const takers = operations().filter(({parameters}) => parameters.some(({name}) => name === 'Idempotency-Key'));
    expect(takers.length).toBeGreaterThan(10);
    for (const operation of takers) {
      const asked = await sandboxRequestOf(operation);
      const keyed = {...asked, headers: {...asked.headers, 'idempotency-key': `of ${operation.id}`}};
      faults.push(...(await client.succeed(operation, keyed)));
      const first = await client.ask(operation, keyed);
      if (first.status >= 400) faults.push(`${operation.id} again: ${first.text}`);
      if (operation.method === 'DELETE' || ENDING.includes(operation.id)) client.forgetSource(operation);
    }
    expect(faults).toEqual([]);
  });

  test('what is answered to GET is answered to HEAD without its body', async () => {
    const faults: string[] = [];
    for (const operation of operations().filter(({method, responses}) => method === 'GET' && !('101' in responses))) {
      if (operation.id === 'schedule.result' || mayBeRefused(operation.id)) continue; // Of a job that has run.
      const asked = {...(await client.asked(operation)), method: 'HEAD'};
      const answered = await client.ask(operation, asked);
      if (answered.status !== 200 || answered.text !== '') faults.push(`${operation.id}: ${answered.status} to HEAD`);
      faults.push(...client.faults(operation, answered, 'HEAD'));
    }
    expect(faults).toEqual([]);
  });

  test('every path takes the methods that are described, and no other', async () => {
    const envelope = (client.document.json.components as {schemas: Record<string, Json>}).schemas.ErrorEnvelope!;
    for (const path of new Set(client.document.operations.map(one => one.path))) {
      const some = client.document.operations.filter(one => one.path === path);
      if (some.some(({responses}) => 'default' in responses)) continue; // Any method.
      const asked = await client.asked(some[0]!);
      const {status, headers, text} = await client.ask(some[0]!, {...asked, method: 'BREW'});
      const methods = some.flatMap(({method}) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      expect([path, status, headers.allow?.split(', ').sort()]).toEqual([path, 405, methods.sort()]);
      expect(client.schemaFaults(envelope, JSON.parse(text))).toEqual([]);
    }
  });

  test('every refusal is one that is described', async () => {
    const faults: string[] = [];
    let count = 0;
    for (const operation of operations()) {
      const asked = await client.asked(operation).catch(() => null);
      if (asked === null) continue;
      for (const [what, other, statuses] of refusals(operation, asked)) {
        const answered = await client.ask(operation, other);
        count++;
        const at = `${what}: `;
        if (statuses !== null && !statuses.includes(answered.status)) {
          faults.push(`${at}${operation.id} answers ${answered.status} ${answered.text}`);
        }
        faults.push(...client.faults(operation, answered).map(fault => at + fault));
      }
    }
    expect(faults).toEqual([]);
    expect(count).toBeGreaterThan(500);
  });

  test('a tenant is deleted last', async () => {
    expect(await client.succeed(client.document.operation('tenants.delete'))).toEqual([]);
  });
});

type Refusal = [what: string, asked: Asked, statuses: number[] | null];

/** Requests that are wrong, and the statuses that can be; null: any that is described. */
function* refusals(operation: Operation, asked: Asked): Generator<Refusal> {
  const {responses, security, path, parameters} = operation;
  const needsCredential = security.length > 0 && security.every(one => Object.keys(one).length > 0);
  const isApps = 'default' in responses;
  const {authorization: _, ...anonymous} = asked.headers;
  if (needsCredential) yield ['no credential', {...asked, headers: anonymous}, [401]];
  if (path.includes('{tenant_id}') && operation.id !== 'tenants.import')
    yield ['no such tenant', {...asked, path: {...asked.path, tenant_id: 'nobody'}}, [404]];
  if (needsCredential || security.length === 0) {
    yield ['a page of elsewhere', {...asked, headers: {...asked.headers, origin: 'https://elsewhere.example'}}, [403]];
  }
  for (const parameter of parameters) yield* wrongParameter(operation, parameter, asked, isApps);
  if (operation.body === null) return;
  if ('413' in responses) {
    const {body: __, ...bodiless} = asked;
    yield ['too large a body', {...bodiless, announcedBytes: MUCH}, [413]];
  }
  if (operation.bodyType === 'application/json' && operation.body.schema !== undefined)
    yield* wrongBodies(operation.body.schema, asked);
}

function* wrongParameter(
  {method}: Operation,
  {name, in: where, schema}: Parameter,
  asked: Asked,
  isApps: boolean,
): Generator<Refusal> {
  if (where === 'path' && name !== 'tenant_id' && !isApps) {
    yield [`another ${name}`, {...asked, path: {...asked.path, [name]: 'none'}}, null];
    yield [`a bad ${name}`, {...asked, path: {...asked.path, [name]: ' /'}}, null];
  }
  if (where === 'query' && schema.type === 'integer') {
    yield [`a bad ${name}`, {...asked, query: {...asked.query, [name]: 'x'}}, [400]];
  }
  const withHeader = (value: string): Asked => ({...asked, headers: {...asked.headers, [name.toLowerCase()]: value}});
  if (name === 'Idempotency-Key') yield ['too long a key', withHeader('k'.repeat(256)), [400]];
  if (name === 'If-Match') yield ['another version', withHeader('"none"'), [412]];
  if (name === 'If-None-Match' && method === 'GET') yield ['any version', withHeader('*'), [304]];
}

function* wrongBodies(schema: Json, asked: Asked): Generator<Refusal> {
  const type = client.document.resolved(schema);
  const {required = [], additionalProperties} = type as {required?: string[]; additionalProperties?: unknown};
  const body = asked.body as Json;
  yield ['no JSON', {...asked, body: '{'}, [400]];
  yield ['a packed body', {...asked, headers: {...asked.headers, 'content-encoding': 'gzip'}}, [415]];
  for (const member of required.slice(0, WRONG_MEMBERS)) {
    const {[member]: _, ...without} = body;
    yield [`no ${member}`, {...asked, body: without}, [400]];
  }
  for (const member of Object.keys((type.properties ?? {}) as Json).slice(0, WRONG_MEMBERS)) {
    const other = OTHER_VALUES.map(value => ({...body, [member]: value})).find(
      one => client.schemaFaults(schema, one).length > client.schemaFaults(schema, body).length,
    );
    if (other !== undefined) yield [`a bad ${member}`, {...asked, body: other}, [400]];
  }
  if (additionalProperties === false)
    yield ['a member that is unknown', {...asked, body: {...body, mispelled: 1}}, [400]];
}
