/**
 * Every operation of the table, asked of a really started service with requests that are made of its row, and every answer
 * held against its wire types: what is written about the API is what it does. Members that a type does not name fail here,
 * although readers pass over them, so that none is forgotten.
 */
import {once} from 'node:events';
import {request as httpRequest} from 'node:http';
import {setImmediate} from 'node:timers/promises';
import type {TSchema} from 'typebox';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {faults} from '../../engine/wire/faults.ts';
import {checkWireType, wireType} from '../../engine/wire-type.ts';
import {ERROR_STATUS} from '../../shared/errors.ts';
import {OPERATION_TYPES, type OperationTypes} from '../../shared/operation-types.ts';
import {
  OPERATIONS,
  type Operation,
  type OperationRoute,
  ROUTER_OPERATIONS,
  type RouterOperation,
  type RouterOperationTraits,
  traitsOf,
} from '../../shared/operations.ts';
import type {AuditPage} from '../../shared/protocol/audit.ts';
import {ErrorEnvelope} from '../../shared/protocol/error-envelope.ts';
import {RIGHTS} from '../../shared/rights.ts';
import {App} from '../functions/app.ts';
import {backupArgs} from '../harness/repository.ts';
import {type Reply, Service} from '../harness/service.ts';
import {filled} from './samples/filled.ts';
import type {Ask, Refused, Sample} from './samples/sample.ts';
import {type Samples, samplesOf} from './samples.ts';

type Name = Operation | RouterOperation;
const NAMES = [...Object.keys(ROUTER_OPERATIONS), ...Object.keys(OPERATIONS)] as Name[];
const JSON_TYPE = 'application/json';

/** Operations that look at their bodies in steps, and say more than the type could. */
const IN_OWN_WORDS: Name[] = [
  'tenants.create',
  'keys.create',
  'keys.rotate',
  'cluster.move',
  'cluster.pin',
  'cluster.drain',
  'transactions.run',
  'schedule.create',
  'crons.create',
  'sessions.create',
];

/** Without --cluster they are refused; test/cluster has them with it. */
const ONLY_IN_CLUSTER = NAMES.filter(name => name.startsWith('cluster.'));

/** Their bodies have no member that they must have. */
const ALL_OPTIONAL: Name[] = ['settings.put', 'sandboxes.create', 'documents.patch', 'crons.patch'];

let service: Service;
let app: App;
let samples: Samples;
beforeAll(async () => {
  service = await Service.start({args: await backupArgs(afterAll)});
  app = await App.empty(service);
  await filled(app);
  samples = await samplesOf(app);
});
afterAll(() => service.stop());

/** What the rows of both tables say. */
function rowOf(name: Name): {
  routes: readonly OperationRoute[];
  success: number;
  variants: Readonly<Record<string, number>>;
} {
  if (name in ROUTER_OPERATIONS) {
    const {method, path, success, variants = {}}: RouterOperationTraits = ROUTER_OPERATIONS[name as RouterOperation];
    return {routes: [{method, path}], success, variants};
  }
  const {of, routes, success, variants = {}} = traitsOf(name as Operation);
  const prefix = {tenant: '/api/tenants/{tenant_id}', session: '/api/sessions', deployment: '/svc/{tenant_id}'}[of];
  // The paths that answer preflights are those of the operations with CORS.
  const own = name === 'functions.preflight' ? [{method: 'OPTIONS', path: '/query'}] : routes;
  return {routes: own.map(route => ({...route, path: `${prefix}${route.path}`})), success, variants};
}

function typesOf(name: Name): OperationTypes {
  return OPERATION_TYPES[name];
}

function routeOf(name: Name, {parameter, params = {}}: Ask): OperationRoute {
  const {routes} = rowOf(name);
  const route = routes.find(
    one => one.parameter === parameter && [...namesIn(one)].every(part => part in params || part === 'tenant_id'),
  );
  if (route === undefined) throw new Error(`the sample of ${name} has no route`);
  return route;
}

function* namesIn({path}: OperationRoute): Generator<string> {
  for (const [, part] of path.matchAll(/\{\*?(\w+)\}/g)) yield part!;
}

async function ask(name: Name, sample: Ask): Promise<Reply> {
  const {method, path} = routeOf(name, sample);
  const params: Record<string, string> = {tenant_id: app.tenant, ...sample.params};
  const url = path
    .replace(/\/\{\*(\w+)\}/, (_, part: string) => params[part]!)
    .replace(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(params[part]!));
  const isUsers = name in OPERATIONS && traitsOf(name as Operation).of === 'deployment';
  const headers: Record<string, string | undefined> = {
    ...(isUsers ? {authorization: undefined} : {}),
    ...sample.headers,
  };
  const target = sample.query === undefined ? url : `${url}?${sample.query}`;
  if (headers.upgrade !== undefined) return await upgraded(target, headers);
  return await service.request(sample.method ?? method, target, sample.body, headers);
}

async function upgraded(path: string, headers: Ask['headers']): Promise<Reply> {
  const key = Buffer.alloc(16).toString('base64');
  const sent = {
    authorization: `Bearer ${service.accessToken}`,
    connection: 'upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
  };
  const request = httpRequest(service.url + path, {headers: {...sent, ...headers} as Record<string, string>}).end();
  const [response, socket] = (await once(request, 'upgrade')) as [
    {statusCode: number; headers: Reply['headers']},
    {destroy(): void},
  ];
  socket.destroy();
  return {status: response.statusCode, headers: response.headers, text: '', body: null as never};
}

/** What a value has that its type does not allow, or lacks. */
function unlike(type: TSchema, value: unknown): string[] {
  return faults(closed(JSON.parse(JSON.stringify(type))) as object, value).map(
    ({instancePath, message, params}) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** The type without members that it does not name, where it names any. */
function closed(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map(closed);
  if (typeof shape !== 'object' || shape === null) return shape;
  const parts = Object.fromEntries(Object.entries(shape).map(([name, part]) => [name, closed(part)]));
  const names = Object.keys((shape as {properties?: object}).properties ?? {});
  return names.length === 0 ? parts : {additionalProperties: false, ...parts};
}

function takesBody(name: Name): boolean {
  const {body, bodies} = typesOf(name);
  return body !== undefined || bodies !== undefined;
}

function bodyTypeOf(name: Name, {parameter}: Ask): TSchema | undefined {
  const {body, bodies} = typesOf(name);
  return bodies === undefined ? body : bodies[parameter ?? ''];
}

async function made<T>(sample: T | (() => T | Promise<T>)): Promise<T> {
  return typeof sample === 'function' ? await (sample as () => T | Promise<T>)() : sample;
}

function sampleOf(name: Name): Sample {
  const sample = samples[name] as Sample | undefined;
  if (sample === undefined) throw new Error(`${name} has no sample`);
  return sample;
}

/** Numbers of a query string are written in digits. */
function queryOf(
  text: string,
  {properties = {}}: {properties?: Record<string, {type?: string}>},
): Record<string, unknown> {
  const entries = [...new URLSearchParams(text)];
  return Object.fromEntries(
    entries.map(([name, value]) => [name, properties[name]?.type === 'integer' ? Number(value) : value]),
  );
}

function checkAsked(name: Name, sample: Ask): void {
  const {query} = typesOf(name);
  const body = bodyTypeOf(name, sample);
  if (body !== undefined) expect(unlike(body, sample.body)).toEqual([]);
  else if (name !== 'functions.http' && typesOf(name).bodyMedia === undefined) expect(sample.body).toBeUndefined();
  if (query !== undefined) expect(unlike(query, queryOf(sample.query ?? '', query as never))).toEqual([]);
}

function checkAnswer(name: Name, sample: Ask, {status, headers, text, body}: Reply): void {
  const {success, variants} = rowOf(name);
  const {answer, media = JSON_TYPE, otherMedia = {}, variants: others = {}} = typesOf(name);
  expect([status, text]).toEqual([
    sample.status ?? (sample.variant === undefined ? success : variants[sample.variant]),
    text,
  ]);
  const type = sample.variant === undefined ? answer : others[sample.variant];
  if (type === undefined && media === JSON_TYPE) expect(text).toBe('');
  if (String(headers['content-type']).split(';')[0]! in otherMedia) return;
  if (text !== '' && media !== '*/*') expect(headers['content-type']).toBe(media);
  if (type === undefined) return;
  const values = media === JSON_TYPE ? [body] : media === 'text/event-stream' ? messagesIn(text) : linesIn(text);
  for (const value of values) expect(unlike(type, value)).toEqual([]);
  expect(values).not.toEqual([]);
}

function linesIn(text: string): unknown[] {
  const lines = text.split('\n').filter(line => line !== '');
  return lines.map(line => JSON.parse(line) as unknown);
}

/** The data of events without a name. */
function messagesIn(text: string): unknown[] {
  const events = text.split('\n\n').filter(event => event.includes('data: ') && !event.startsWith('event: '));
  return events.map(event => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as unknown);
}

describe('every operation of the table', () => {
  test.each(ONLY_IN_CLUSTER)('%s is 409 at a server that is no host of a cluster', async name => {
    for (const sample of sampleOf(name).succeeds) {
      const request = await made<Ask>(sample);
      checkAsked(name, request);
      const {status, body} = await ask(name, request);
      const message = 'this server is no host of a cluster: start it with --cluster';
      expect([status, body]).toEqual([409, {error: {code: 'op.conflict', message}}]);
    }
  });

  test.each(NAMES.filter(name => !ONLY_IN_CLUSTER.includes(name)))('%s answers what its type says', async name => {
    const asked = new Set<OperationRoute['path']>();
    for (const sample of sampleOf(name).succeeds) {
      const request = await made<Ask>(sample);
      asked.add(routeOf(name, request).path);
      checkAsked(name, request);
      checkAnswer(name, request, await ask(name, request));
      // A long answer takes seconds to check, in which the server may have closed a socket: it is to be noticed before the next request.
      for (let turns = 0; turns < 2; turns++) await setImmediate();
    }
    expect([...asked].sort()).toEqual([...new Set(rowOf(name).routes.map(({path}) => path))].sort());
  });

  test.each(NAMES)('%s is refused with an envelope', async name => {
    const {code, ...request} = await made<Refused>(sampleOf(name).refused);
    const {status, headers, body} = await ask(name, request);
    expect({status, error: (body as {error?: {code?: string}} | null)?.error?.code}).toEqual({
      status: ERROR_STATUS[code],
      error: code,
    });
    expect(headers['content-type']).toBe(JSON_TYPE);
    expect(unlike(ErrorEnvelope, body)).toEqual([]);
  });

  test.each(NAMES.filter(takesBody).filter(name => !ALL_OPTIONAL.includes(name)))(
    '%s takes no other body than its type says',
    async name => {
      const [sample] = sampleOf(name).succeeds;
      const request = await made<Ask>(sample!);
      const type = bodyTypeOf(name, request) as TSchema & {required?: string[]};
      const {required = []} = type;
      expect(required).not.toEqual([]);
      for (const member of required) {
        const {[member]: _, ...without} = request.body as Record<string, unknown>;
        const other = [5, '?', {}]
          .map(value => ({...without, [member]: value}))
          .find(body => unlike(type, body).length > 0);
        for (const body of [without, other]) {
          const {status, body: answer} = await ask(name, {...request, body});
          const {error} = answer as {error: {code: string; message: string}};
          expect([status, error.code, member]).toEqual([400, 'op.invalid_input', member]);
          if (!IN_OWN_WORDS.includes(name)) expect(error.message).toBe(refusalOf(type, body));
        }
      }
    },
  );
});

test("every operator's action has a record in the audit log, and nothing else has", async () => {
  const asked = new Set<string>();
  for (let after = 0, hasMore = true; hasMore; ) {
    const {body} = await service.get(`/api/audit?limit=1000&after=${after}`);
    const page = body as AuditPage;
    for (const record of page.records) if (record.kind === 'intent') asked.add(record.operation);
    after = page.next_cursor;
    hasMore = page.has_more;
  }
  asked.delete('dashboard.sign_in'); // of the dashboard's own host
  expect([...asked].sort()).toEqual(NAMES.filter(name => RIGHTS[name].trace === 'audit').sort());
});

function refusalOf(type: TSchema, value: unknown): string {
  try {
    checkWireType(wireType(type), value);
  } catch (caught) {
    return (caught as Error).message;
  }
  throw new Error('its type takes it');
}
