/** The two kinds of bodies at the worker's end, without a connection: who waits for whom, and what is counted. */
import {Buffer} from 'node:buffer';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {IncomingBody} from '../../../engine/io/incoming-body.ts';
import {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {STREAM_CHUNK_BYTES_MAX, STREAM_STALL_MS} from '../../../engine/limits.ts';
import {parseResponseMeta} from '../../../router/workers/worker-frames.ts';
import {corsHeaders, preflightHeaders} from '../../../shared/ipc/cors.ts';
import {MalformedFrame} from '../../../shared/ipc/frame.ts';
import {RESPONSE_HEADERS_MAX, STREAM_WINDOW_BYTES} from '../../../shared/limits.ts';
import {feed} from '../../../worker/ipc/streamed-bodies.ts';

describe('an outgoing body', () => {
  let sent: number;
  let ends: (string | null)[];
  let body: OutgoingBody;
  beforeEach(() => {
    // Not those of turns: a test must not run those of others.
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    sent = 0;
    ends = [];
    body = new OutgoingBody({
      chunk: chunk => {
        expect(chunk.length).toBeLessThanOrEqual(STREAM_CHUNK_BYTES_MAX);
        sent += chunk.length;
      },
      end: reason => ends.push(reason),
    });
  });
  afterEach(() => void vi.useRealTimers());

  test('sends a window, then as much as is credited', () => {
    body.write(Buffer.alloc(3 * STREAM_WINDOW_BYTES));
    expect(sent).toBe(STREAM_WINDOW_BYTES);
    body.credit(STREAM_WINDOW_BYTES);
    expect(sent).toBe(2 * STREAM_WINDOW_BYTES);
    body.end();
    expect(ends).toEqual([]);
    body.credit(STREAM_WINDOW_BYTES);
    expect([sent, ends]).toEqual([3 * STREAM_WINDOW_BYTES, [null]]);
  });

  test('may be silent for days', () => {
    body.write(Buffer.alloc(10));
    vi.advanceTimersByTime(7 * 24 * 60 * 60 * 1000);
    expect(body.isOpen).toBe(true);
  });

  test('may be silent even when its reader has taken nothing, as long as nothing waits', () => {
    body.write(Buffer.alloc(STREAM_WINDOW_BYTES));
    vi.advanceTimersByTime(10 * STREAM_STALL_MS);
    expect(body.isOpen).toBe(true);
  });

  test('is cut when its reader takes nothing of what waits', () => {
    let cancelled = 0;
    body.onCancel = () => cancelled++;
    body.write(Buffer.alloc(STREAM_WINDOW_BYTES + 1));
    vi.advanceTimersByTime(STREAM_STALL_MS - 1);
    expect(body.isOpen).toBe(true);
    vi.advanceTimersByTime(1);
    expect([body.isOpen, cancelled, ends]).toEqual([false, 1, ['its reader stalled']]);
  });

  test('gives its reader time anew with each credit', () => {
    body.write(Buffer.alloc(STREAM_WINDOW_BYTES + 3 * STREAM_CHUNK_BYTES_MAX));
    for (let i = 0; i < 2; i++) {
      vi.advanceTimersByTime(STREAM_STALL_MS - 1);
      body.credit(1);
    }
    expect(body.isOpen).toBe(true);
  });

  test('is cut when its reader stalls after its end', () => {
    body.write(Buffer.alloc(STREAM_WINDOW_BYTES + 1));
    body.end();
    vi.advanceTimersByTime(STREAM_STALL_MS);
    expect(ends).toEqual(['its reader stalled']);
  });

  test('is ready when nothing of it waits, and for ever once it is over', async () => {
    await body.ready;
    body.write(Buffer.alloc(STREAM_WINDOW_BYTES + 1));
    expect(body.isReady).toBe(false);
    const {ready} = body;
    body.cancel();
    await ready;
    await body.ready;
    expect([body.isReady, ends]).toEqual([true, []]);
  });

  test('ends once, whatever is called after it', () => {
    body.end();
    body.end();
    body.fail();
    body.cancel();
    body.write(Buffer.alloc(1));
    expect([sent, ends]).toEqual([0, [null]]);
  });

  test('that an iterator feeds makes no more than a piece beyond the window, and closes the iterator', async () => {
    let made = 0;
    let isClosed = false;
    function* chunks(): Generator<string, void, void> {
      try {
        while (true) {
          made++;
          yield 'x'.repeat(1000);
        }
      } finally {
        isClosed = true;
      }
    }
    feed(body, chunks());
    while (made === 0 || body.isReady) await nextTurn();
    vi.advanceTimersByTime(STREAM_STALL_MS);
    expect(made).toBe(Math.ceil((STREAM_WINDOW_BYTES + 1) / 1000) + (STREAM_WINDOW_BYTES % 1000 === 0 ? 0 : 1));
    expect([isClosed, ends]).toEqual([true, ['its reader stalled']]);
  });
});

describe('an incoming body', () => {
  test('credits what is taken, not what arrives', async () => {
    const taken: number[] = [];
    const body = new IncomingBody({taken: bytes => taken.push(bytes), cancelled: () => undefined});
    body.push(Buffer.from('abc'));
    body.push(Buffer.from('de'));
    expect(taken).toEqual([]);
    expect((await body.next())!.toString()).toBe('abc');
    expect(taken).toEqual([3]);
  });

  test('copies what arrives', async () => {
    const body = new IncomingBody({taken: () => undefined, cancelled: () => undefined});
    const chunk = Buffer.from('abc');
    body.push(chunk);
    chunk.fill(0);
    body.finish(false);
    expect((await body.collect(3)).toString()).toBe('abc');
  });

  test('is given up when a reader leaves its loop', async () => {
    let cancelled = 0;
    const body = new IncomingBody({taken: () => undefined, cancelled: () => cancelled++});
    body.push(Buffer.from('abc'));
    for await (const chunk of body.chunks()) {
      expect(chunk.toString()).toBe('abc');
      break;
    }
    expect([cancelled, await body.next()]).toEqual([1, null]);
  });

  test('wakes a reader that waits, whatever happens', async () => {
    const source = {taken: () => undefined, cancelled: () => undefined};
    const [whole, failed, cancelled] = [new IncomingBody(source), new IncomingBody(source), new IncomingBody(source)];
    const outcomes = Promise.allSettled([whole.next(), failed.next(), cancelled.next()]);
    whole.finish(false);
    failed.finish(true);
    cancelled.cancel();
    expect((await outcomes).map(({status}) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('the meta of a response is not one, and costs the connection, with', () => {
  test.each<[what: string, meta: object]>([
    ['no status', {}],
    ['a status of 100', {s: 100}],
    ['headers that are no list', {s: 200, h: {a: 'b'}}],
    ['a header of one part', {s: 200, h: [['a']]}],
    ['a header that is no text', {s: 200, h: [['a', 1]]}],
    ['a line break in a header', {s: 200, h: [['a', 'b\r\nc: d']]}],
    ['a line break in a name', {s: 200, h: [['a\r\nb', 'c']]}],
    ['a line break in the content type', {s: 200, t: 'text/plain\n'}],
    ['a length of its own', {s: 200, h: [['Content-Length', '5']]}],
    ['too many headers', {s: 200, h: Array(RESPONSE_HEADERS_MAX + 1).fill(['a', 'b'])}],
  ])('%s', (_, meta) => {
    expect(() => parseResponseMeta(Buffer.from(JSON.stringify(meta)))).toThrow(MalformedFrame);
  });

  test('nothing of this: it is taken', () => {
    const meta = {s: 201, h: Array(RESPONSE_HEADERS_MAX - 1).fill(['a', 'b']), t: 'text/plain'};
    expect(parseResponseMeta(Buffer.from(JSON.stringify(meta)))).toEqual(meta);
  });
});

describe('a page of the origin https://a.example', () => {
  const origin = 'https://a.example';
  const anyOrigin = ['Access-Control-Allow-Origin', '*'];
  const thisOrigin = ['Access-Control-Allow-Origin', origin];
  const varies = ['Vary', 'Origin'];

  test.each<[what: string, allowed: string[] | null, origin: string | undefined, has: string[][], hasNot: string[]]>([
    ['may read where no list is', null, origin, [anyOrigin], varies],
    ['may read where it is listed', ['https://b.example', origin], origin, [thisOrigin, varies], anyOrigin],
    ['may not read where it is not listed', ['https://b.example'], origin, [varies], thisOrigin],
    ['may not read where the list is empty', [], origin, [varies], thisOrigin],
    ['may not read where a longer one is listed', [`${origin}.evil`], origin, [varies], thisOrigin],
    ['is nobody without the header', [origin], undefined, [varies], thisOrigin],
  ])('%s', (_, allowed, from, has, hasNot) => {
    for (const headers of [corsHeaders(from, allowed), preflightHeaders(from, allowed)]) {
      for (const header of has) expect(headers).toContainEqual(header);
      expect(headers).not.toContainEqual(hasNot);
    }
  });

  test('learns by a preflight what it may send, if it may send at all', () => {
    const names = (allowed: string[] | null) => preflightHeaders(origin, allowed).map(([name]) => name);
    expect(names(null)).toEqual(expect.arrayContaining(['Access-Control-Allow-Methods', 'Access-Control-Max-Age']));
    expect(names([])).toEqual(['Vary']);
  });
});
