/**
 * Input that no honest client sends, on every route of the table. Whatever it is, the answer is one of the contract's, the
 * tenant's worker is the same process afterwards, and nothing was written.
 */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import {OPERATION_TYPES} from '../../shared/operation-types.ts';
import {journalPage} from '../harness/journal.ts';
import {rawRequest, sendAndLeave, usualLines} from '../harness/raw.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
let worker: number;
let sequence: number;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  worker = await service.workerOf(tenant.id);
  sequence = (await journalPage(tenant)).page.latest_sequence;
});
afterAll(async () => {
  expect(await service.workerOf(tenant.id)).toBe(worker);
  expect(service.log).not.toMatch(/"level":"(error|fatal)"/);
  await service.stop();
});
beforeEach(() => service.showLogOnFailure());

const pathOf = (pattern: string, parameter = 'x') =>
  pattern.replace('{tenant_id}', tenant.id).replaceAll(/\{\w+\}/g, parameter);
/** Documents, schemas and schedules; functions, sandboxes with their sessions, and the dashboard's host have tests of their own. */
const NATIVE = ROUTES.filter(
  ({answer, pattern}) =>
    !pattern.startsWith('/_dashboard/') &&
    !(
      'operation' in answer &&
      /^(deployments|functions|env|logs|settings|tables|sandboxes|sessions)\./.test(answer.operation)
    ),
);
const TYPES: Readonly<Record<string, object>> = OPERATION_TYPES;
const WITH_BODY = NATIVE.filter(
  ({takesBody, answer}) => takesBody && 'body' in TYPES['operation' in answer ? answer.operation : answer.own]!,
).map(({method, pattern}) => ({method, pattern}));

const BODIES: [what: string, body: string | Buffer][] = [
  ['nothing', ''],
  ['white space', ' \n\t'],
  ['half an object', '{'],
  ['two values', '{}{}'],
  ['a trailing comma', '{"table":"t",}'],
  ['single quotes', "{'table':'t'}"],
  ['a comment', '{}//'],
  ['NaN', '{"fields":NaN}'],
  ['undefined', 'undefined'],
  ['a byte order mark', '\ufeff{}'],
  ['a raw control character in a string', '{"table":"\0"}'],
  ['an unfinished escape', '{"table":"\\u12"}'],
  ['null', 'null'],
  ['true', 'true'],
  ['a number', '1e999'],
  ['a string', '"t"'],
  ['an empty array', '[]'],
  ['an empty object', '{}'],
  ['__proto__ with what is asked for', '{"__proto__":{"id":"x","table":"t","fields":{},"filters":[]}}'],
  ['a form', 'table=t&fields=%7B%7D'],
  ['XML', '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'],
  ['overlong UTF-8', Buffer.from([0x7b, 0xc0, 0xaf, 0x7d])],
  ['a lone continuation byte', Buffer.from([0x22, 0x80, 0x22])],
  ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['a cut character', Buffer.from([0x22, 0xe2, 0x82])],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['bytes of every value', Buffer.from(Array.from({length: 256}, (_, byte) => byte))],
  ['a hundred thousand brackets', '['.repeat(100_000)],
  ['a hundred thousand objects', '{"a":'.repeat(100_000)],
  ['a long number', `[${'9'.repeat(100_000)}]`],
];

describe.each(WITH_BODY)('$method $pattern', ({method, pattern}) => {
  test('answers 400 op.invalid_input to any body that is not its own', async () => {
    for (const [what, body] of BODIES) {
      const reply = await service.request(method, pathOf(pattern), body);
      expect({what, status: reply.status}).toEqual({what, status: 400});
      expectError(reply, 400, 'op.invalid_input');
    }
    expect((await journalPage(tenant)).page.latest_sequence).toBe(sequence);
  });
});

const PARAMETERS = [
  ...['%00', 'x%00y', '%0d%0aX-Injected:%201', '..%2f..%2f..%2fetc%2fpasswd', '%2e%2e%2f', '%5c..%5c', '~', '*'],
  ...['__proto__', 'constructor', 'toString', '%24where', "'%20OR%201=1--", '%22%7d', '%3Cscript%3E', '{tenant_id}'],
  ...['%f0%9f%98%80', '%ef%bf%bd', '%e2%80%ae', '-0', '1e999', 'NaN', '%20', '%2f', '%25', '%2500', 'x'.repeat(3000)],
];
const BROKEN = ['%', '%f', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'a%80', '%e2%82'];
const WITH_PARAMETERS = NATIVE.filter(route => /\}.*\}/.test(route.pattern)).map(({method, pattern}) => ({
  method,
  pattern,
}));
/** A body that is right but for what the path says. */
const PATCH_BODY = '{"patch":{}}';
const SCHEMA_BODY = '{"table":"another","fields":[],"indexes":[]}';

describe.each(WITH_PARAMETERS)('$method $pattern', ({method, pattern}) => {
  const send = (parameter: string): Promise<Reply> => {
    const body = method === 'PATCH' ? PATCH_BODY : method === 'PUT' ? SCHEMA_BODY : '';
    const lines = [`${method} ${pathOf(pattern, parameter)} HTTP/1.1`, ...usualLines(service)];
    return rawRequest(service, [...lines, `Content-Length: ${body.length}`], body);
  };

  test('takes odd parameters for names of things that are not there', async () => {
    for (const parameter of PARAMETERS) {
      const reply = await send(parameter);
      expect({parameter, status: reply.status, injected: reply.headers['x-injected']}).toEqual({
        parameter,
        status: expect.toBeOneOf([200, 400, 404]),
        injected: undefined,
      });
      if (reply.status === 200) expect(reply.text).toBe('{"data":[]}');
      else expectError(reply, reply.status, reply.status === 400 ? 'op.invalid_input' : 'op.not_found');
    }
    expect((await journalPage(tenant)).page.latest_sequence).toBe(sequence);
  });

  test('answers 400 to a broken percent-encoding', async () => {
    for (const parameter of BROKEN) expectError(await send(parameter), 400, 'op.invalid_input');
  });
});

describe('HTTP that is malformed', () => {
  const head = 'Host: 127.0.0.1';
  const ROWS: [what: string, bytes: string][] = [
    ['noise', '\0\x01\x02\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['a header without colon', 'GET /health HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n'],
    ['no Host', 'GET /health HTTP/1.1\r\n\r\n'],
    ['a negative Content-Length', `POST /api/tenants HTTP/1.1\r\n${head}\r\nContent-Length: -1\r\n\r\n`],
    ['a Content-Length that is no number', `POST /api/tenants HTTP/1.1\r\n${head}\r\nContent-Length: ten\r\n\r\n`],
    [
      'both lengths, as in request smuggling',
      `POST /api/tenants HTTP/1.1\r\n${head}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
  ];

  test.each(ROWS)('%s: that connection gets a bare error or ends, the server goes on', async (_, bytes) => {
    const received = await service.raw(Buffer.from(bytes, 'latin1'), text => text.includes('\r\n\r\n'));
    expect(received).toMatch(/^$|^HTTP\/1\.1 (4|505)/);
    expect((await service.get('/health')).status).toBe(200);
  });

  test('a client that goes before its body is complete leaves nothing behind', async () => {
    const lines = [`POST /api/tenants/${tenant.id}/documents HTTP/1.1`, ...usualLines(service), 'Content-Length: 1000'];
    await sendAndLeave(service, `${lines.join('\r\n')}\r\n\r\n{"table":"t","fields":{`);
    expect(await tenant.list('t')).toHaveLength(1);
    expect((await journalPage(tenant)).page.latest_sequence).toBe(sequence);
  });
});
