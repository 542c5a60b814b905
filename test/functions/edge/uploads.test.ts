/** Request bodies that reach a worker while they arrive: whole, held back, refused, given up by either end. */
import {createHash, randomBytes} from 'node:crypto';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {WHOLE_UPLOAD_BYTES_MAX} from '../../../router/limits.ts';
import {DEPLOYMENT_BYTES_MAX, HTTP_ACTION_BODY_BYTES_MAX, STREAM_WINDOW_BYTES} from '../../../shared/limits.ts';
import {firstOf} from '../../harness/nightly.ts';
import {ACCESS, type Arrived, Edge, received} from './edge.ts';

let edge: Edge;
beforeAll(async () => {
  edge = await Edge.start();
});
afterAll(() => edge.stop());
afterEach(() => {
  edge.serve = ({link, stream}) => link.reply(stream, 200, 'null');
});

const HTTP = '/svc/acme/http/upload';

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The next request that the worker gets; the test answers it. */
function arrival(): Promise<Arrived> {
  return new Promise(resolve => {
    edge.serve = resolve;
  });
}

/** The head of a chunked upload, whose pieces a test sends by hand. */
function chunked(path = HTTP): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer ${ACCESS}\r\n\r\n`;
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** A round trip of another request: the router and the worker have gone on meanwhile. */
async function roundTrips(count: number): Promise<void> {
  const {serve} = edge;
  edge.serve = ({link, stream}) => link.reply(stream, 200, 'null');
  for (let i = 0; i < count; i++) await (await fetch(edge.url('/svc/acme/query'), {method: 'POST'})).text();
  edge.serve = serve;
}

describe('a body of any length arrives whole', () => {
  const lengths = [0, 1, WHOLE_UPLOAD_BYTES_MAX, WHOLE_UPLOAD_BYTES_MAX + 1, 3 * STREAM_WINDOW_BYTES + 7];

  test.each(lengths)('%d bytes of announced length', async length => {
    const body = randomBytes(length);
    edge.serve = ({link, stream, incoming}) => {
      if (incoming === null) link.replyWith(stream, 200, [], digest(Buffer.alloc(0)));
      else incoming.collect(length).then(all => link.replyWith(stream, 200, [], digest(all)));
    };
    const response = await fetch(edge.url(HTTP), {method: 'POST', body});
    expect(await response.text()).toBe(digest(body));
  });

  test.each(lengths)('%d bytes in chunks', async length => {
    const body = randomBytes(length);
    edge.serve = async ({link, stream, incoming}) => {
      link.replyWith(stream, 200, [], digest(await incoming!.collect(length)));
    };
    const socket = edge.connect(chunked());
    const answer = received(socket, text => text.includes(digest(body)));
    for (let at = 0; at < length; at += 30_000) socket.write(chunk(body.subarray(at, at + 30_000)));
    socket.write('0\r\n\r\n');
    expect(await answer).toContain('200 OK');
    socket.destroy();
  });

  test('a deployment may be longer than any other body', async () => {
    const body = randomBytes(HTTP_ACTION_BODY_BYTES_MAX + 1);
    edge.serve = async ({link, stream, incoming}) => {
      link.reply(stream, 200, JSON.stringify(digest(await incoming!.collect(DEPLOYMENT_BYTES_MAX))));
    };
    const headers = {authorization: `Bearer ${ACCESS}`};
    const response = await fetch(edge.url('/api/tenants/acme/deployments'), {method: 'POST', body, headers});
    expect(await response.json()).toBe(digest(body));
  });
});

describe('a body in pieces', () => {
  test('is read while it arrives', async () => {
    const arrived = arrival();
    const socket = edge.connect(chunked());
    const answer = received(socket, text => text.endsWith('done'));
    const {link, stream, incoming} = await arrived;
    for (const word of ['one', 'two', 'three']) {
      socket.write(chunk(Buffer.from(word)));
      expect((await incoming!.next())!.toString()).toBe(word);
    }
    socket.write('0\r\n\r\n');
    expect(await incoming!.next()).toBeNull();
    link.replyWith(stream, 200, [], 'done');
    expect(await answer).toContain('200 OK');
    socket.destroy();
  });

  test('is held back while its worker does not read, and goes on when it does', async () => {
    const arrived = arrival();
    const body = randomBytes(HTTP_ACTION_BODY_BYTES_MAX);
    const socket = edge.connect(`POST ${HTTP} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    const answer = received(socket, text => text.includes('\r\n\r\n'));
    const {link, stream, incoming} = await arrived;
    await roundTrips(200);
    expect(socket.writableLength).toBeGreaterThan(0);
    expect(digest(await incoming!.collect(body.length))).toBe(digest(body));
    link.replyWith(stream, 200, [], '');
    expect(await answer).toContain('200 OK');
    socket.destroy();
  });

  test('that is not wanted any more does not keep its client from the answer, nor from the next request', async () => {
    const arrived = arrival();
    const body = randomBytes(4 * STREAM_WINDOW_BYTES);
    const head = `POST ${HTTP} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = edge.connect(head);
    socket.write(body);
    const first = received(socket, text => text.endsWith('enough'));
    const {link, stream, incoming} = await arrived;
    incoming!.cancel();
    expect(await incoming!.next()).toBeNull();
    link.replyWith(stream, 200, [], 'enough');
    await first;
    const next = arrival();
    socket.write('GET /svc/acme/http/next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    expect((await next).meta.p).toEqual(['/next']);
    socket.destroy();
  });

  test('ends for its reader when the answer is given', async () => {
    const arrived = arrival();
    const socket = edge.connect(chunked());
    socket.write(chunk(Buffer.from('x')));
    const {link, stream, incoming} = await arrived;
    await incoming!.next();
    link.replyWith(stream, 200, [], 'early');
    await expect(incoming!.next()).rejects.toMatchObject({code: 'op.failed'});
    await received(socket, text => text.endsWith('early'));
    socket.destroy();
  });

  test('fails for its reader when the client goes', async () => {
    const arrived = arrival();
    const socket = edge.connect(chunked());
    socket.write(chunk(Buffer.from('x')));
    const {incoming} = await arrived;
    await incoming!.next();
    socket.destroy();
    await expect(incoming!.next()).rejects.toMatchObject({code: 'op.failed'});
    await expect(incoming!.collect(10)).rejects.toMatchObject({code: 'op.failed'});
  });

  test('is collected up to a limit', async () => {
    const arrived = arrival();
    const socket = edge.connect(chunked());
    socket.write(chunk(Buffer.from('12345678')));
    const {incoming} = await arrived;
    await expect(incoming!.collect(7)).rejects.toMatchObject({code: 'op.too_large'});
    socket.destroy();
  });
});

describe('a body that is too long is 413', () => {
  test.each<[path: string, bytesMax: number]>(
    firstOf(1, [
      [HTTP, HTTP_ACTION_BODY_BYTES_MAX],
      ['/api/tenants/acme/deployments', DEPLOYMENT_BYTES_MAX],
    ]),
  )('by its announced length, unread: %s', async (path, bytesMax) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${ACCESS}\r\nContent-Length: ${bytesMax + 1}`;
    const socket = edge.connect(`${head}\r\n\r\n`);
    expect(await received(socket, text => text.includes('op.too_large'))).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test('once it has become too long; its reader gets an error', async () => {
    const arrived = arrival();
    const socket = edge.connect(chunked());
    const answer = received(socket, text => text.includes('op.too_large'));
    socket.write(chunk(randomBytes(HTTP_ACTION_BODY_BYTES_MAX)));
    const {link, stream, incoming} = await arrived;
    const read = incoming!.collect(HTTP_ACTION_BODY_BYTES_MAX);
    socket.write(chunk(Buffer.from('x')));
    await expect(read).rejects.toMatchObject({code: 'op.failed'});
    link.replyWith(stream, 200, [], 'this is dropped');
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    await roundTrips(1);
  });
});

test('a worker that dies while a body arrives leaves its outcome unknown', async () => {
  const arrived = arrival();
  const socket = edge.connect(chunked());
  const answer = received(socket, text => text.includes('session.'));
  socket.write(chunk(Buffer.from('x')));
  await (await arrived).incoming!.next();
  edge.killWorker();
  expect(await answer).toMatch(/503 [\s\S]*session\.outcome_unknown/);
  socket.destroy();
  await roundTrips(1);
});

test('a body whose tenant is still waking is held back, and its client may go', async () => {
  const body = randomBytes(HTTP_ACTION_BODY_BYTES_MAX);
  const head = `POST /svc/asleep/http/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`;
  const socket = edge.connect(head);
  socket.write(body);
  await roundTrips(200);
  expect(edge.directory.find('asleep')!.waiting).toBe(1);
  expect(socket.writableLength).toBeGreaterThan(0);
  socket.resetAndDestroy();
});
