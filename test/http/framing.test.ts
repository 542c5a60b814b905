/** Where a request ends is said once: what could be read in two ways is refused, and nothing after it is believed. */
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {usualLines} from '../harness/raw.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => service.showLogOnFailure());

const BODY = '{"table":"t","fields":{}}';
/** What a smuggler hides behind the shorter reading, or behind the longer one. */
const HIDDEN = () => `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\n\r\n`;

const CASES: [what: string, lines: string[], body: string][] = [
  ['two lengths that differ', [`Content-Length: ${BODY.length}`, 'Content-Length: 0'], BODY],
  ['two lengths that differ, the shorter first', ['Content-Length: 0', `Content-Length: ${BODY.length}`], BODY],
  ['two lengths that agree', [`Content-Length: ${BODY.length}`, `Content-Length: ${BODY.length}`], BODY],
  ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], `19\r\n${BODY}\r\n0\r\n\r\n`],
  ['chunked, then not', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], `19\r\n${BODY}\r\n0\r\n\r\n`],
  ['not, then chunked', ['Transfer-Encoding: identity, chunked'], `19\r\n${BODY}\r\n0\r\n\r\n`],
];
/** Answered by the HTTP parser below us, which has no envelope. */
const BARE: [what: string, lines: string[], body: string][] = [
  ['a length and an encoding', [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'], BODY],
  ['an encoding and a length', ['Transfer-Encoding: chunked', `Content-Length: ${BODY.length}`], BODY],
  ['an encoding nobody takes', ['Transfer-Encoding: gzip'], BODY],
];

const REQUESTS: [method: string, path: () => string][] = [
  ['POST', () => `/api/tenants/${tenant.id}/documents`],
  ['GET', () => `/api/tenants/${tenant.id}/documents/t`],
  ['GET', () => '/health'],
  ['POST', () => `/svc/${tenant.id}/http/x`],
  ['POST', () => '/nowhere'],
];

describe.each(REQUESTS)('%s of a request that has', (method, path) => {
  const send = (lines: string[], body: string, after = '') => {
    const head = [`${method} ${path()} HTTP/1.1`, ...usualLines(service), ...lines].join('\r\n');
    return service.raw(Buffer.from(`${head}\r\n\r\n${body}${after}`, 'latin1'));
  };

  test.each(CASES)('%s: 400 op.invalid_input, and the connection ends', async (_, lines, body) => {
    const text = await send(lines, body);
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\nConnection: close\r\n[\s\S]*"op\.invalid_input"/);
  });

  test.each(BARE)('%s: a bare 400, and the connection ends', async (_, lines, body) => {
    expect(await send(lines, body)).toMatch(/HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test.each([...CASES, ...BARE])('%s: what is hidden behind it is not served', async (_, lines, body) => {
    for (const shown of [body, '']) {
      const text = await send(lines, shown, HIDDEN());
      expect(text).not.toMatch(/"ok"|HTTP\/1\.1 2/);
    }
  });
});

test('HTTP/1.0 gets a bare 505 that says so, and nothing is done', async () => {
  const head = `POST /api/tenants/${tenant.id}/documents HTTP/1.0\r\n${usualLines(service).join('\r\n')}`;
  const text = await service.raw(`${head}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`);
  expect(text).toMatch(/^HTTP\/1\.1 505 [\s\S]*does not support HTTP\/1\.0/);
});

test('a second request before the answer to the first ends the connection, and nothing but the first is done', async () => {
  const body = '{"table":"pipelined","fields":{}}';
  const lines = [`POST /api/tenants/${tenant.id}/documents HTTP/1.1`, ...usualLines(service)];
  const one = `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  expect(await service.raw(one.repeat(3))).toBe('');
  expect((await tenant.list('pipelined')).length).toBeLessThanOrEqual(1);
});

test('nothing of all that was written', async () => {
  expect(await tenant.list('t')).toEqual([]);
});

test.each(['chunked', 'Chunked', 'CHUNKED'])('Transfer-Encoding: %s is taken', async encoding => {
  const head = [`POST /api/tenants/${tenant.id}/documents HTTP/1.1`, ...usualLines(service)].join('\r\n');
  const table = `c${encoding}`;
  const body = `{"table":"${table}","fields":{}}`;
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const text = await service.raw(`${head}\r\nTransfer-Encoding: ${encoding}\r\n\r\n${chunks}`, all =>
    all.includes('"id"'),
  );
  expect(text).toMatch(/^HTTP\/1\.1 201 /);
  expect(await tenant.list(table)).toHaveLength(1);
});
