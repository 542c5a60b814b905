/** Real servers on loopback ports, opened by the allow list; names come from a resolver the test writes. */
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {brotliCompressSync, deflateSync, gzipSync} from 'node:zlib';
import {WebSocket} from 'undici';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {EgressSettings} from '../../../shared/ipc/egress.ts';
import type {Egress} from '../../../worker/runtime/egress/connector.ts';
import {type EgressRequest, type EgressResponse, egressFetch} from '../../../worker/runtime/egress/fetch.ts';
import {EGRESS_ORIGINS_MAX, EGRESS_SOCKET_MESSAGE_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {TestEgress} from '../../harness/egress.ts';
import {nightly} from '../../harness/nightly.ts';

/** As the fetch standard has it. */
const REDIRECTS_MAX = 20;

type Seen = {method: string; url: string; headers: IncomingMessage['headers']; body: string};

let servers: Server[];
let network: TestEgress;
/** Requests of both servers, in order. */
let seen: Seen[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
/** What every name resolves to, look-up after look-up. */
let addresses: string[][];
let lookedUp: string[];
let port: number;
let otherPort: number;
let policy: Egress;

beforeEach(async () => {
  servers = [];
  network = new TestEgress(async hostname => {
    lookedUp.push(hostname);
    return addresses.length > 1 ? addresses.shift()! : addresses[0]!;
  });
  seen = [];
  addresses = [['127.0.0.1']];
  lookedUp = [];
  answer = (_request, response) => response.end('hello');
  [port, otherPort] = [await listen(), await listen()];
  policy = policyOf({allow: [`127.0.0.1:${port}`, `127.0.0.1:${otherPort}`], deny: []});
});
afterEach(async () => {
  await network.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(): Promise<number> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    seen.push({method: request.method!, url: request.url!, headers: request.headers, body});
    answer(request, response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function policyOf(settings: EgressSettings): Egress {
  return network.under(settings);
}

function ask(changes: Partial<EgressRequest> = {}, under = policy): Promise<EgressResponse> {
  const url = `http://127.0.0.1:${port}/`;
  return egressFetch(under, {method: 'GET', url, headers: [], body: null, redirect: 'follow', ...changes});
}

async function textOf(response: EgressResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** `Name: message` of the error; `none` when there is none. */
async function errorOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'none',
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

function redirectTo(location: string | ((hop: number) => string), status = 302, hops = 1): void {
  let hop = 0;
  answer = (_request, response) => {
    if (hop++ >= hops) response.end('arrived');
    else response.writeHead(status, {location: typeof location === 'string' ? location : location(hop)}).end();
  };
}

describe('the policy decides', () => {
  test('a request to this machine is refused, by address and by name', async () => {
    const closed = policyOf({allow: [], deny: []});
    const refused = "refused by the tenant's egress policy: 127.0.0.1 is a loopback address";
    for (const host of ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '[::ffff:127.0.0.1]']) {
      expect(await errorOf(ask({url: `http://${host}:${port}/`}, closed))).toMatch(
        new RegExp(`^EgressRefused: .* ${refused}`),
      );
    }
    expect(await errorOf(ask({url: `http://inner.example:${port}/`}, closed))).toBe(
      `EgressRefused: Connection to inner.example:${port} ${refused}`,
    );
    expect(seen).toEqual([]);
  });

  test('the error is an EgressRefused', async () => {
    await expect(ask({}, policyOf({allow: [], deny: []}))).rejects.toBeInstanceOf(EgressRefused);
  });

  test('the system resolver is used when none is given: localhost is refused', async () => {
    const system = new TestEgress();
    expect(await errorOf(ask({url: `http://localhost:${port}/`}, system.under({allow: [], deny: []})))).toMatch(
      /^EgressRefused: Connection to localhost/,
    );
    await system.close();
  });

  test('an allow entry for one port opens that port only', async () => {
    const one = policyOf({allow: [`127.0.0.1:${port}`], deny: []});
    expect(await textOf(await ask({}, one))).toBe('hello');
    expect(await errorOf(ask({url: `http://127.0.0.1:${otherPort}/`}, one))).toMatch(/^EgressRefused/);
  });

  test('a denied name is not looked up', async () => {
    const denied = policyOf({allow: ['127.0.0.1'], deny: ['*.secret.example']});
    expect(await errorOf(ask({url: `http://data.secret.example:${port}/`}, denied))).toBe(
      `EgressRefused: Connection to data.secret.example:${port} refused by the tenant's egress policy: data.secret.example is denied`,
    );
    expect(lookedUp).toEqual([]);
  });

  test('a redirect to a closed place is refused', async () => {
    const one = policyOf({allow: [`127.0.0.1:${port}`], deny: []});
    for (const target of [
      `http://127.0.0.1:${otherPort}/`,
      'http://169.254.169.254/latest/',
      'http://[::1]/',
      'http://10.0.0.1/',
    ]) {
      redirectTo(target);
      expect(await errorOf(ask({}, one))).toMatch(/^EgressRefused/);
    }
    expect(seen.map(request => request.url)).toEqual(['/', '/', '/', '/']);
  });

  test('of the addresses of a name only the open ones are connected to', async () => {
    addresses = [['10.0.0.1', '::1', '127.0.0.1', '169.254.169.254']];
    expect(await textOf(await ask({url: `http://mixed.example:${port}/`}))).toBe('hello');
    expect(seen[0]!.headers.host).toBe(`mixed.example:${port}`);
  });

  test('a name without an address fails as such', async () => {
    addresses = [[]];
    expect(await errorOf(ask({url: `http://empty.example:${port}/`}))).toMatch(
      /^EgressRefused: .*the name has no address/,
    );
  });

  test('DNS rebinding: the connection goes to the address that was checked, and one look-up is all there is', async () => {
    const victim = await listen();
    const guarded = policyOf({allow: [`127.0.0.1:${port}`], deny: []});
    addresses = [['127.0.0.1'], ['127.0.0.2'], ['10.0.0.1']];
    expect(await textOf(await ask({url: `http://rebind.example:${port}/`}, guarded))).toBe('hello');
    expect(lookedUp).toEqual(['rebind.example']);
    expect(await errorOf(ask({url: `http://rebind.example:${victim}/`}, guarded))).toMatch(
      /^EgressRefused: .*127\.0\.0\.2 is a/,
    );
    redirectTo(`http://again.example:${port}/`);
    expect(await errorOf(ask({}, guarded))).toMatch(/^EgressRefused: .*10\.0\.0\.1 is a private/);
  });
});

describe('requests', () => {
  test.each(['ftp:', 'data:', 'blob:', 'about:', 'ws:', 'javascript:'])('the scheme %s is refused', async scheme => {
    expect(await errorOf(ask({url: `${scheme}//127.0.0.1:${port}/`}))).toMatch(/^TypeError: Unsupported URL scheme/);
  });

  test.each(['', 'x', '/path', 'http://', 'http://a b/'])('%j is no URL', async url => {
    expect(await errorOf(ask({url}))).toMatch(/^TypeError: Invalid URL/);
  });

  test.each(['user@', 'user:pass@', ':pass@'])('a URL with %s is refused', async userinfo => {
    expect(await errorOf(ask({url: `http://${userinfo}127.0.0.1:${port}/`}))).toMatch(
      /^TypeError: A URL with a user name/,
    );
  });

  test('headers of the connection and Host are not the sender’s to set', async () => {
    const headers: [string, string][] = [
      ['Host', 'other.example'],
      ['Connection', 'close, x-own'],
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '1'],
      ['Upgrade', 'h2c'],
      ['TE', 'trailers'],
      ['Proxy-Authorization', 'secret'],
      ['Expect', '100-continue'],
      ['X-Own', 'stays'],
    ];
    await textOf(await ask({method: 'POST', headers, body: Buffer.from('body')}));
    const {host, te, upgrade, expect: expected, ...others} = seen[0]!.headers;
    expect(host).toBe(`127.0.0.1:${port}`);
    expect([te, upgrade, expected, others['proxy-authorization'], others['transfer-encoding']]).toEqual(
      Array(5).fill(undefined),
    );
    expect([others['content-length'], others.connection, others['x-own']]).toEqual(['4', 'keep-alive', 'stays']);
    expect(seen[0]!.body).toBe('body');
  });

  test('a body can be streamed', async () => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one ');
      yield Buffer.from('two');
    }
    await textOf(await ask({method: 'POST', body: body()}));
    expect(seen[0]!.body).toBe('one two');
  });

  test('cookies are neither kept nor sent', async () => {
    answer = (_request, response) =>
      response
        .writeHead(
          200,
          [
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
          ].flat(),
        )
        .end();
    const response = await ask();
    expect(response.headers.filter(([name]) => name === 'set-cookie')).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ]);
    await ask();
    expect(seen[1]!.headers.cookie).toBeUndefined();
  });

  test('a proxy of the environment is not used', async () => {
    const before = process.env.http_proxy;
    process.env.http_proxy = `http://127.0.0.1:${otherPort}`;
    await textOf(await ask({url: `http://127.0.0.1:${port}/direct`}));
    if (before === undefined) delete process.env.http_proxy;
    else process.env.http_proxy = before;
    expect(seen.map(request => request.url)).toEqual(['/direct']);
  });

  test('a signal ends a request that gets no answer', async () => {
    const abort = new AbortController();
    answer = () => abort.abort(new Error('the action has ended'));
    expect(await errorOf(ask({signal: abort.signal}))).toBe('Error: the action has ended');
  });
});

describe('a streamed body', () => {
  const MEBIBYTES = 192;

  async function* bytes(chunks: number, onLast: () => void = () => undefined): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < chunks; i++) yield new Uint8Array(1024 * 1024);
    onLast();
  }

  test('uses no memory once it is sent', async () => {
    let received = 0;
    const sink = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      request.on('end', () => response.end('taken'));
    });
    servers.push(sink);
    sink.listen(0, '127.0.0.1');
    await once(sink, 'listening');
    const address = `127.0.0.1:${(sink.address() as AddressInfo).port}`;
    let used = 0;
    const before = process.memoryUsage().arrayBuffers;
    const body = bytes(MEBIBYTES, () => {
      used = process.memoryUsage().arrayBuffers - before;
    });
    const sent = ask({method: 'POST', url: `http://${address}/`, body}, policyOf({allow: [address], deny: []}));
    expect(await textOf(await sent)).toBe('taken');
    expect(received).toBe(MEBIBYTES * 1024 * 1024);
    expect(used).toBeLessThan((MEBIBYTES / 2) * 1024 * 1024);
  });

  test('is left behind by a redirect to GET, and refused where it would be sent again', async () => {
    redirectTo('/next', 303);
    expect(await textOf(await ask({method: 'POST', body: bytes(2)}))).toBe('arrived');
    expect(seen.map(({method, url, body}) => [method, url, body.length])).toEqual([
      ['POST', '/', 2 * 1024 * 1024],
      ['GET', '/next', 0],
    ]);
    expect(seen[0]!.headers).toMatchObject({'transfer-encoding': 'chunked'});
    expect(seen[1]!.headers).not.toHaveProperty('transfer-encoding');
    redirectTo('/next', 307);
    expect(await errorOf(ask({method: 'POST', body: bytes(2)}))).toBe(
      'TypeError: fetch failed: a streamed body cannot be sent again after a redirect',
    );
  });
});

describe('redirects', () => {
  test('as many as the limit are followed, one more fails', async () => {
    redirectTo(hop => `/${hop}`, 302, REDIRECTS_MAX);
    const response = await ask();
    expect(await textOf(response)).toBe('arrived');
    expect([response.url, response.redirected]).toEqual([`http://127.0.0.1:${port}/${REDIRECTS_MAX}`, true]);
    redirectTo(hop => `/${hop}`, 302, REDIRECTS_MAX + 1);
    expect(await errorOf(ask())).toBe('TypeError: fetch failed: redirect count exceeded');
  });

  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'HEAD', 'HEAD', ''],
    [301, 'PUT', 'PUT', 'body'],
    [302, 'DELETE', 'DELETE', 'body'],
    [307, 'POST', 'POST', 'body'],
    [308, 'POST', 'POST', 'body'],
  ])('%i of a %s becomes a %s with the body %j', async (status, method, then, body) => {
    redirectTo('/next', status);
    await ask({method, body: method === 'HEAD' ? null : Buffer.from('body')});
    expect([seen[1]!.method, seen[1]!.url, seen[1]!.body]).toEqual([then, '/next', body]);
  });

  test('credentials do not cross origins', async () => {
    const headers: [string, string][] = [
      ['authorization', 'Bearer t'],
      ['cookie', 'a=1'],
      ['x-own', 'stays'],
    ];
    redirectTo(`http://127.0.0.1:${otherPort}/`);
    await ask({headers});
    redirectTo('/same');
    await ask({headers});
    const credentials = seen.map(({headers}) => [headers.authorization, headers.cookie, headers['x-own']]);
    const all = ['Bearer t', 'a=1', 'stays'];
    expect(credentials).toEqual([all, [undefined, undefined, 'stays'], all, all]);
  });

  test.each(['data:text/plain,x', 'file:///etc/passwd', 'ftp://127.0.0.1/'])('one to %s fails', async location => {
    redirectTo(location);
    expect(await errorOf(ask())).toMatch(/^TypeError: fetch failed/);
  });

  test('one to a URL with a password fails', async () => {
    redirectTo(`http://user:pass@127.0.0.1:${otherPort}/`);
    expect(await errorOf(ask())).toMatch(/^TypeError: fetch failed/);
    expect(seen.length).toBe(1);
  });

  test('`error` fails, `manual` shows the redirect', async () => {
    redirectTo('/next', 302, 2);
    expect(await errorOf(ask({redirect: 'error'}))).toBe('TypeError: fetch failed: unexpected redirect');
    const response = await ask({redirect: 'manual'});
    expect([response.status, new Map(response.headers).get('location')]).toEqual([302, '/next']);
  });
});

describe('answers', () => {
  const BODY = 'x'.repeat(10_000);
  test.each([
    ['gzip', gzipSync(BODY)],
    ['deflate', deflateSync(BODY)],
    ['br', brotliCompressSync(BODY)],
    ['gzip, br', brotliCompressSync(gzipSync(BODY))],
  ])('packed with %s are unpacked, and counted unpacked', async (coding, packed) => {
    answer = (_request, response) => response.writeHead(200, {'content-encoding': coding}).end(packed);
    expect(await textOf(await ask())).toBe(BODY);
    expect((await textOf(await ask({bodyBytesMax: 10_000}))).length).toBe(10_000);
    expect(await errorOf(ask({bodyBytesMax: 9_999}).then(textOf))).toMatch(/^TypeError: .*is longer than 9999 bytes/);
  });

  test('a bomb ends at 64 MiB', async () => {
    const bomb = gzipSync(Buffer.alloc(70 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(100_000);
    answer = (_request, response) => response.writeHead(200, {'content-encoding': 'gzip'}).end(bomb);
    let bytes = 0;
    const drained = (async () => {
      for await (const chunk of (await ask()).body) bytes += chunk.byteLength;
    })();
    expect(await errorOf(drained)).toMatch(/is longer than 67108864 bytes/);
    expect(bytes).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  test('that break off fail while they are read', async () => {
    answer = (_request, response) => {
      response.writeHead(200, {'content-length': '100'});
      response.write('part', () => response.destroy());
    };
    expect(await errorOf(ask().then(textOf))).toMatch(/^TypeError: terminated/);
  });

  test('with headers beyond the limit fail', async () => {
    answer = (_request, response) => response.writeHead(200, {'x-long': 'x'.repeat(70_000)}).end();
    expect(await errorOf(ask())).toMatch(/^TypeError: fetch failed: Headers Overflow/);
  });

  test('leaving the loop over a body closes its connection', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    answer = (request, response) => {
      closed = once(request.socket, 'close');
      response.write('first');
    };
    for await (const chunk of (await ask()).body) {
      expect(Buffer.from(chunk).toString()).toBe('first');
      break;
    }
    await closed;
  });

  test('a refused connection says so', async () => {
    servers[1]!.close();
    expect(await errorOf(ask({url: `http://127.0.0.1:${otherPort}/`}))).toMatch(
      /^TypeError: fetch failed: .*ECONNREFUSED/,
    );
  });
});

describe('WebSockets', () => {
  /** A server that shakes hands and then sends these bytes; resolves to its port. */
  async function socketServer(frame: Buffer): Promise<number> {
    const server = createServer();
    servers.push(server);
    server.on('upgrade', (request, socket) => {
      const accept = createHash('sha1').update(
        `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
      );
      socket.on('error', () => {});
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
      );
      socket.write(frame);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** The first of the events `message`, `error` and `close`, with the message's text. */
  function firstEvent(socketPort: number, under: Egress): Promise<string> {
    const socket = new WebSocket(`ws://127.0.0.1:${socketPort}/`, {dispatcher: under.sockets});
    return new Promise(resolve => {
      socket.addEventListener('message', event => resolve(`message ${event.data}`));
      socket.addEventListener('error', () => resolve('error'));
      socket.addEventListener('close', () => resolve('close'));
    });
  }

  test('connect under the policy', async () => {
    const socketPort = await socketServer(Buffer.from([0x81, 2, 0x68, 0x69]));
    expect(await firstEvent(socketPort, policyOf({allow: ['127.0.0.1'], deny: []}))).toBe('message hi');
    expect(await firstEvent(socketPort, policyOf({allow: [], deny: []}))).toBe('error');
  });

  test('do not take messages beyond the limit', async () => {
    const header = Buffer.alloc(10);
    header.writeUInt16BE(0x827f);
    header.writeBigUInt64BE(BigInt(EGRESS_SOCKET_MESSAGE_BYTES_MAX + 1), 2);
    const socketPort = await socketServer(header);
    expect(await firstEvent(socketPort, policyOf({allow: ['127.0.0.1'], deny: []}))).toMatch(/error|close/);
  });
});

nightly.test('origins that were refused do not use up the places for origins', async () => {
  const closed = policyOf({allow: [`127.0.0.1:${port}`], deny: []});
  for (let n = 0; n < EGRESS_ORIGINS_MAX + 10; n++) {
    expect(await errorOf(ask({url: `http://n${n}.example:${otherPort}/`}, closed))).toMatch(/^EgressRefused/);
  }
  expect(await textOf(await ask({}, closed))).toBe('hello');
});
