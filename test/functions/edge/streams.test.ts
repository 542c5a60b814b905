/** Responses that a worker makes while they are sent. */
import {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import {request} from 'undici';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {STREAM_BACKLOG_BYTES_MAX} from '../../../engine/limits.ts';
import {STREAM_WINDOW_BYTES} from '../../../shared/limits.ts';
import {ACCESS, type Arrived, Edge, received} from './edge.ts';

let edge: Edge;
beforeEach(async () => {
  edge = await Edge.start();
});
afterEach(() => edge.stop());

const PATH = '/svc/acme/http/x';
const GET = `GET ${PATH} HTTP/1.1\r\nHost: h\r\n\r\n`;

function arrival(): Promise<Arrived> {
  return new Promise(resolve => {
    edge.serve = resolve;
  });
}

/** A response whose body the test writes, and what the client receives of it. */
async function streamed(head = GET, headers: [string, string][] = []) {
  const arrived = arrival();
  const socket = edge.connect(head);
  const {link, stream} = await arrived;
  const body = link.startStream(stream, 200, headers);
  return {socket, body};
}

describe('a streamed response', () => {
  test('has its status, its headers (repeated ones too) and its pieces as they are made', async () => {
    edge.serve = async ({link, stream}) => {
      const body = link.startStream(stream, 201, [
        ['Content-Type', 'text/plain'],
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['X-Name', 'Zoë'],
      ]);
      for (const word of ['one ', 'two ', 'three']) body.write(Buffer.from(word));
      body.end();
    };
    const response = await fetch(edge.url(PATH));
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(response.headers.get('content-type')).toBe('text/plain');
    expect(response.headers.get('x-name')).toBe('Zoë');
    expect(response.headers.get('x-request-id')).toMatch(/./);
    expect(await response.text()).toBe('one two three');
  });

  test('shows each piece at once, however long the pauses', async () => {
    const {socket, body} = await streamed();
    for (const word of ['one', 'two', 'three']) {
      const seen = received(socket, text => text.includes(word));
      body.write(Buffer.from(word));
      expect(await seen).toContain(word);
    }
    const whole = received(socket, text => text.includes('0\r\n\r\n'));
    body.end();
    expect(await whole).toContain('0\r\n\r\n');
    socket.destroy();
  });

  test('of events is open before the first of them', async () => {
    edge.serve = ({link, stream}) => void link.startStream(stream, 200, [['content-type', 'text/event-stream']]);
    const response = await fetch(edge.url(PATH));
    expect(response.status).toBe(200);
    await response.body!.cancel();
  });

  test('of binary data, longer than all windows, arrives whole at a client that pauses', async () => {
    const sent = randomBytes(12 * STREAM_WINDOW_BYTES);
    const {socket, body} = await streamed();
    const chunks: Buffer[] = [];
    const whole = new Promise<void>(resolve => {
      socket.on('data', chunk => {
        chunks.push(chunk as Buffer);
        socket.pause();
        setImmediate(() => socket.resume());
        if ((chunk as Buffer).subarray(-5).toString() === '0\r\n\r\n') resolve();
      });
    });
    for (let at = 0; at < sent.length; at += 100_000) {
      body.write(sent.subarray(at, at + 100_000));
      await body.ready;
    }
    body.end();
    await whole;
    socket.destroy();
    expect(unchunked(Buffer.concat(chunks)).equals(sent)).toBe(true);
  });

  test('waits for a client that does not read, and is whole when it does', async () => {
    const sent = randomBytes(16 * STREAM_WINDOW_BYTES);
    const {socket, body} = await streamed();
    socket.pause();
    body.write(sent);
    expect(body.isReady).toBe(false);
    body.end();
    const chunks: Buffer[] = [];
    const whole = new Promise<void>(resolve => {
      socket.on('data', chunk => {
        chunks.push(chunk as Buffer);
        if ((chunk as Buffer).subarray(-5).toString() === '0\r\n\r\n') resolve();
      });
    });
    socket.resume();
    await whole;
    socket.destroy();
    expect(unchunked(Buffer.concat(chunks)).equals(sent)).toBe(true);
  });

  test('goes on after its client caught up with all there was', async () => {
    const {socket, body} = await streamed();
    let bytes = 0;
    let wanted: {bytes: number; resolve: () => void} = {bytes: 0, resolve: () => undefined};
    socket.on('data', chunk => {
      bytes += (chunk as Buffer).length;
      if (bytes >= wanted.bytes) wanted.resolve();
    });
    for (let round = 1; round <= 5; round++) {
      socket.pause();
      body.write(Buffer.alloc(4 * STREAM_WINDOW_BYTES));
      const caughtUp = new Promise<void>(resolve => {
        wanted = {bytes: round * 4 * STREAM_WINDOW_BYTES, resolve};
      });
      socket.resume();
      await caughtUp;
      await body.ready;
    }
    body.fail();
    await new Promise(resolve => socket.on('close', resolve));
  });

  test('is cut, visibly, when its maker fails', async () => {
    const {socket, body} = await streamed();
    const all = received(socket);
    body.write(Buffer.from('half'));
    body.fail();
    expect(await all).toMatch(/200 OK[\s\S]*half/);
    expect(await all).not.toContain('0\r\n\r\n');
    expect(body.isOpen).toBe(false);
  });

  test('is a 500 when its maker fails before its first piece', async () => {
    const {socket, body} = await streamed();
    const all = received(socket, text => text.includes('}}'));
    body.fail();
    expect(await all).toMatch(/^HTTP\/1\.1 500 [\s\S]*"op\.failed"/);
    socket.destroy();
  });

  test('has an unknown outcome when the connection to its maker breaks before its first piece', async () => {
    const {socket} = await streamed();
    edge.serve = ({link, stream}) => link.reply(stream, 200, 'null');
    await (await fetch(edge.url('/svc/acme/query'), {method: 'POST'})).text(); // its head has arrived as well
    const all = received(socket, text => text.includes('}}'));
    edge.killWorker();
    expect(await all).toMatch(/^HTTP\/1\.1 503 [\s\S]*"session\.outcome_unknown"/);
    socket.destroy();
  });

  test('that is empty has a length of 0', async () => {
    const {socket, body} = await streamed();
    const all = received(socket, text => text.includes('\r\n\r\n'));
    body.end();
    expect(await all).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nContent-Length: 0\r\n\r\n$/);
    socket.destroy();
  });

  test('is cut when more waits than may', async () => {
    const {socket, body} = await streamed();
    socket.pause();
    let cancelled = 0;
    body.onCancel = () => cancelled++;
    body.write(Buffer.alloc(STREAM_BACKLOG_BYTES_MAX + STREAM_WINDOW_BYTES));
    expect([body.isOpen, cancelled]).toEqual([true, 0]);
    body.write(Buffer.alloc(1));
    expect([body.isOpen, cancelled]).toEqual([false, 1]);
    socket.destroy();
  });

  test('is cancelled when its client goes', async () => {
    const {socket, body} = await streamed();
    const seen = received(socket, text => text.includes('x'));
    body.write(Buffer.from('x'));
    await seen;
    const cancelled = new Promise<void>(resolve => {
      body.onCancel = resolve;
    });
    socket.destroy();
    await cancelled;
    expect(body.isOpen).toBe(false);
    await body.ready;
    body.write(Buffer.from('y'));
    body.end();
    body.fail();
  });

  test('is cut for the client and cancelled for its maker when the connection between them breaks', async () => {
    const {socket, body} = await streamed();
    const all = received(socket);
    const cancelled = new Promise<void>(resolve => {
      body.onCancel = resolve;
    });
    body.write(Buffer.from('x'));
    await new Promise(resolve => socket.once('data', resolve));
    edge.killWorker();
    await cancelled;
    expect(await all).not.toContain('0\r\n\r\n');
  });
});

describe('a response without a body', () => {
  test.each<[what: string, method: string, status: number]>([
    ['HEAD', 'HEAD', 200],
    ['204', 'GET', 204],
    ['304', 'GET', 304],
  ])('%s has headers only, and what streams is cancelled', async (_, method, status) => {
    let made: OutgoingBody | null = null;
    const cancelled = new Promise<void>(resolve => {
      edge.serve = ({link, stream}) => {
        made = link.startStream(stream, status, [
          ['Content-Type', 'text/plain'],
          ['X-A', '1'],
        ]);
        made.onCancel = resolve;
      };
    });
    const response = await request(edge.url(PATH), {method: method as 'GET'});
    expect(response.statusCode).toBe(status);
    expect(response.headers).toMatchObject({'x-a': '1', 'content-type': 'text/plain'});
    expect(response.headers).not.toHaveProperty('content-length');
    expect(await response.body.text()).toBe('');
    await cancelled;
    expect(made!.isOpen).toBe(false);
  });

  test.each<[what: string, method: string, status: number, length: string | undefined]>([
    ['HEAD', 'HEAD', 200, '4'],
    ['204', 'GET', 204, undefined],
    ['304', 'GET', 304, undefined],
  ])('%s drops a body that is given whole', async (_, method, status, length) => {
    edge.serve = ({link, stream}) => link.replyWith(stream, status, [['X-A', '1']], 'body');
    const response = await request(edge.url(PATH), {method: method as 'GET'});
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-length']).toBe(length);
    expect(await response.body.text()).toBe('');
  });
});

describe('an answer with headers of its own', () => {
  test('has exactly them; those that frame the message are left out', async () => {
    edge.serve = ({link, stream}) => {
      const headers: [string, string][] = [
        ['Content-Length', '1000'],
        ['Transfer-Encoding', 'chunked'],
        ['Connection', 'close'],
        ['X-Request-Id', 'mine'],
        ['X-A', '1'],
      ];
      link.replyWith(stream, 418, headers, Buffer.from([0, 255, 7]));
    };
    const response = await request(edge.url(PATH), {headers: {'x-request-id': 'r9'}});
    expect(response.statusCode).toBe(418);
    expect(response.headers).toMatchObject({'content-length': '3', 'x-request-id': 'r9', 'x-a': '1'});
    expect(response.headers).not.toHaveProperty('content-type');
    expect([...Buffer.from(await response.body.arrayBuffer())]).toEqual([0, 255, 7]);
  });

  test.each<[what: string, header: [string, string]]>([
    ['a line break', ['X-A', 'a\r\nSet-Cookie: x=1']],
    ['a lone line feed', ['X-A', 'a\nb']],
    ['a zero', ['X-A', 'a\0b']],
    ['a character beyond Latin-1', ['X-A', '€']],
    ['a name with a colon', ['X:A', 'a']],
    ['no name', ['', 'a']],
    ['too many characters', ['X-A', 'a'.repeat(20_000)]],
  ])('is 500 when it holds %s', async (_, header) => {
    let isOpen: boolean | null = null;
    edge.serve = ({link, stream}) => {
      if (isOpen === null) isOpen = link.startStream(stream, 200, [header]).isOpen;
      else link.replyWith(stream, 200, [header], 'x');
    };
    for (let i = 0; i < 2; i++) {
      const response = await fetch(edge.url(PATH));
      expect(response.status).toBe(500);
      expect(await response.text()).toContain('op.failed');
    }
    expect(isOpen).toBe(false);
  });
});

test.each([0, 101, 199, 600, 200.5, Number.NaN])('a status of %d is 500', async status => {
  edge.serve = ({link, stream}) => link.replyWith(stream, status, [], 'x');
  expect((await fetch(edge.url(PATH))).status).toBe(500);
});

describe('the log of a tenant', () => {
  const FOLLOW = `GET /api/tenants/acme/logs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${ACCESS}\r\n\r\n`;

  test('keeps its tenant busy while somebody reads it, and ends whole when the server stops', async () => {
    const {socket, body} = await streamed(FOLLOW);
    const first = received(socket, text => text.includes('line'));
    body.write(Buffer.from('line\n'));
    await first;
    expect(edge.directory.find('acme')!.isBusy).toBe(true);
    const rest = received(socket, text => text.endsWith('0\r\n\r\n'));
    const cancelled = new Promise<void>(resolve => {
      body.onCancel = resolve;
    });
    edge.intake.drain();
    expect(await rest).toMatch(/0\r\n\r\n$/);
    await cancelled;
    expect(edge.directory.find('acme')!.isBusy).toBe(false);
    socket.destroy();
  });

  test('that has not begun when the server stops is 503', async () => {
    const arrived = arrival();
    const socket = edge.connect(FOLLOW);
    const answer = received(socket);
    const {link, stream} = await arrived;
    edge.intake.drain();
    expect(await answer).toMatch(/503 [\s\S]*session\.worker_unavailable/);
    const body = link.startStream(stream, 200, []);
    await new Promise<void>(resolve => {
      body.onCancel = resolve;
    });
  });
});

/** The body of a chunked response. */
function unchunked(response: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let at = response.indexOf('\r\n\r\n') + 4;
  while (true) {
    const lineEnd = response.indexOf('\r\n', at);
    const length = Number.parseInt(response.subarray(at, lineEnd).toString(), 16);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(response.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
