/**
 * An answer that leaves before the request's body has come arrives all the same, with every kind of client: one that reads
 * while it sends, one that sends all before it reads, one that asks first, and one that wants the connection closed.
 */
import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {writeFileSync} from 'node:fs';
import {request as httpRequest} from 'node:http';
import {connect} from 'node:net';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {promisify} from 'node:util';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {DROPPED_BODY_BYTES_MAX} from '../../router/limits.ts';
import {BODY_BYTES_MAX, DEPLOYMENT_BYTES_MAX} from '../../shared/limits.ts';
import {rounds} from '../harness/nightly.ts';
import {usualLines} from '../harness/raw.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => service.showLogOnFailure());

const MIB = 1024 * 1024;
type Answer = {status: number; code: string};
type Request = {method: string; path: string; headers: Record<string, string>; body: Buffer};
const answerOf = (status: number, text: string): Answer => ({status, code: JSON.parse(text).error.code as string});

const withFetch = async ({method, path, headers, body}: Request): Promise<Answer> => {
  const response = await fetch(service.url + path, {method, headers, body: new Uint8Array(body)});
  return answerOf(response.status, await response.text());
};

const withNodeHttp =
  (more: Record<string, string>) =>
  ({method, path, headers, body}: Request): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(service.url + path, {
        method,
        headers: {...headers, ...more, 'content-length': String(body.length)},
        agent: false,
      });
      sent.on('error', reject);
      sent.on('response', response => {
        let text = '';
        response.setEncoding('utf8').on('data', piece => {
          text += piece;
        });
        response.on('error', reject);
        response.on('end', () => resolve(answerOf(response.statusCode!, text)));
      });
      if (more.expect === undefined) sent.end(body);
      else sent.on('continue', () => sent.end(body));
    });

/** As http.client of Python and many others do it: nothing is read before everything is sent. */
const withSendFirst =
  (more: string[]) =>
  async ({method, path, headers, body}: Request): Promise<Answer> => {
    const socket = connect({host: '127.0.0.1', port: service.port});
    socket.pause();
    const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, ...more];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    const head = `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n`;
    const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error));
    await Promise.race([
      new Promise<void>(sent => socket.write(Buffer.concat([Buffer.from(head), body]), () => sent())),
      failed,
    ]);
    let text = '';
    socket.on('data', piece => {
      text += (piece as Buffer).toString('latin1');
    });
    socket.resume();
    await Promise.race([
      new Promise(resolve => socket.once('close', resolve)),
      until('the answer', () => text.includes('}}')),
      failed,
    ]);
    socket.destroy();
    failed.catch(() => undefined);
    return answerOf(Number(text.slice(9, 12)), text.slice(text.indexOf('\r\n\r\n') + 4));
  };

const run = promisify(execFile);
const isThere = (command: string) =>
  run(command, ['--version']).then(
    () => true,
    () => false,
  );

const withCurl =
  (more: string[]) =>
  async ({method, path, headers, body}: Request): Promise<Answer> => {
    const file = join(service.data, 'curl-body');
    writeFileSync(file, body);
    const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const {stdout} = await run('curl', [
      ...['-sS', '-X', method, '--data-binary', `@${file}`, '-w', '\n%{http_code}', ...given, ...more],
      service.url + path,
    ]);
    const cut = stdout.lastIndexOf('\n');
    return answerOf(Number(stdout.slice(cut + 1)), stdout.slice(0, cut));
  };

const PYTHON = `
import sys, urllib.request, urllib.error, http.client, json
kind, port, method, path, size, headers = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]), json.loads(sys.argv[6])
body = b' ' * size
if kind == 'http.client':
    c = http.client.HTTPConnection('127.0.0.1', port); c.request(method, path, body, headers); r = c.getresponse()
    print(r.status, json.loads(r.read())['error']['code'])
else:
    try: urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:%d%s' % (port, path), body, headers, method=method))
    except urllib.error.HTTPError as e: print(e.code, json.loads(e.read())['error']['code'])
`;
const withPython =
  (kind: string) =>
  async ({method, path, headers, body}: Request): Promise<Answer> => {
    const given = [kind, String(service.port), method, path, String(body.length), JSON.stringify(headers)];
    const {stdout} = await run('python3', ['-c', PYTHON, ...given]);
    const [status, code] = stdout.trim().split(' ');
    return {status: Number(status), code: code!};
  };

const CLIENTS: [name: string, send: (request: Request) => Promise<Answer>, command?: string][] = [
  ['fetch', withFetch],
  ['http.request', withNodeHttp({})],
  ['http.request with Connection: close', withNodeHttp({connection: 'close'})],
  ['http.request with Expect: 100-continue', withNodeHttp({expect: '100-continue'})],
  ['a client that sends all before it reads', withSendFirst([])],
  ['such a client with Connection: close', withSendFirst(['Connection: close'])],
  ['curl', withCurl([]), 'curl'],
  ['curl with Expect: 100-continue', withCurl(['-H', 'Expect: 100-continue']), 'curl'],
  ['http.client of Python', withPython('http.client'), 'python3'],
  ['urllib of Python', withPython('urllib'), 'python3'],
];

describe.each(CLIENTS)('%s learns why its body of many MiB was refused:', (_, send, command) => {
  let isHere = true;
  beforeAll(async () => {
    if (command !== undefined) isHere = await isThere(command);
  });
  const check = async (request: Request, expected: Answer) => {
    for (let round = 0; round < rounds({commit: 1, nightly: 3}); round++) expect(await send(request)).toEqual(expected);
  };
  const admin = () => ({authorization: `Bearer ${service.accessToken}`});

  test('413 for a body, 413 for an upload, 401, 404 and 405', async context => {
    if (!isHere) context.skip(`${command} is not on this machine`);
    const body = Buffer.alloc(20 * MIB, 0x20);
    const documents = `/api/tenants/${tenant.id}/documents`;
    await check(
      {method: 'POST', path: documents, headers: admin(), body: body.subarray(0, BODY_BYTES_MAX + 1)},
      TOO_LARGE,
    );
    await check({method: 'POST', path: documents, headers: admin(), body}, TOO_LARGE);
    await check({method: 'POST', path: documents, headers: {}, body}, {status: 401, code: 'auth.unauthorized'});
    await check({method: 'POST', path: '/nowhere', headers: {}, body}, {status: 404, code: 'op.not_found'});
    await check({method: 'PUT', path: documents, headers: {}, body}, {status: 405, code: 'op.method_not_allowed'});
    const upload = Buffer.alloc(HTTP_ACTION_TOO_LARGE, 0x20);
    await check({method: 'POST', path: `/svc/${tenant.id}/http/x`, headers: {}, body: upload}, TOO_LARGE);
  });
});

const HTTP_ACTION_TOO_LARGE = 20 * MIB + 1;
const TOO_LARGE = {status: 413, code: 'op.too_large'};

describe('a chunked body, whose length nobody announced,', () => {
  const lines = () => [
    `POST /api/tenants/${tenant.id}/documents HTTP/1.1`,
    ...usualLines(service),
    'Transfer-Encoding: chunked',
  ];
  const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;

  test('is 413 when it grows too long, and its sender may finish it', async () => {
    const chunks = chunk(MIB).repeat(BODY_BYTES_MAX / MIB + 4);
    const text = await service.raw(`${lines().join('\r\n')}\r\n\r\n${chunks}0\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({error: {code: 'op.too_large'}});
    expect(Buffer.byteLength(text.slice(text.indexOf('\r\n\r\n') + 4))).toBe(
      Number(/content-length: (\d+)/i.exec(text)![1]),
    );
  });

  test('is read no further than the bound on what is dropped', async () => {
    const socket = connect({host: '127.0.0.1', port: service.port});
    const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
    socket.on('error', () => undefined); // a reset is how it ends for a client that goes on
    let text = '';
    socket.on('data', piece => {
      text += String(piece);
    });
    socket.write(`${lines().join('\r\n')}\r\n\r\n`);
    let isOpen = true;
    closed.then(() => {
      isOpen = false;
    });
    const piece = chunk(MIB);
    let sent = 0;
    while (isOpen && sent < 4 * DROPPED_BODY_BYTES_MAX) {
      sent += MIB;
      if (!socket.write(piece)) await Promise.race([new Promise(resolve => socket.once('drain', resolve)), closed]);
      await nextTurn(); // it reads while it sends: writes that the system takes at once drain without a turn
    }
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeGreaterThanOrEqual(DROPPED_BODY_BYTES_MAX);
    expect(sent).toBeLessThan(2 * DROPPED_BODY_BYTES_MAX);
  });
});

test('a client that asked before it sends learns that its body is too long without sending it', async () => {
  const head = [`POST /api/tenants/${tenant.id}/deployments HTTP/1.1`, ...usualLines(service), 'Expect: 100-continue'];
  const bytes = [...head, `Content-Length: ${DEPLOYMENT_BYTES_MAX + 1}`, '', ''].join('\r\n');
  const text = await service.raw(bytes, received => received.includes('}}'));
  expect(text).toMatch(/HTTP\/1\.1 413 [\s\S]*"op\.too_large"/);
});

test('an honest body that was refused for another reason leaves its connection in use', async () => {
  const body = '{"table":1}';
  const bytes = (more: string[]) =>
    [`POST /api/tenants/${tenant.id}/documents HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, ...more].join('\r\n');
  const first = `${bytes([`Content-Length: ${body.length}`])}\r\n\r\n${body}`;
  const second = `${bytes([`Authorization: Bearer ${service.accessToken}`, `Content-Length: ${body.length}`])}\r\n\r\n${body}`;
  const text = await service.raw(first + second, received => (received.match(/HTTP\/1\.1 /g) ?? []).length === 2);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 400']);
});
