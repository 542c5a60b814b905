/** Followers of a tenant, without a service: what they cost while they do not read. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {JournalReader} from '../../engine/journal/read-page.ts';
import {EventBoundary} from '../../router/http/event-boundary.ts';
import {ServiceError} from '../../shared/errors.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {Followers} from '../../worker/api/follow/followers.ts';
import {JournalFollowers} from '../../worker/api/follow/journal-followers.ts';
import {FOLLOWER_HEARTBEAT_MS, FOLLOWERS_BUFFERED_BYTES_MAX, FOLLOWERS_MAX} from '../../worker/api/limits.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

/** A body, and how it ended: `whole`, or why it was cut; null while it is open. */
function body(): {body: OutgoingBody; ended: () => string | null} {
  let ended: string | null = null;
  const made = new OutgoingBody({
    chunk: () => undefined,
    end: reason => {
      ended = reason ?? 'whole';
    },
  });
  return {body: made, ended: () => ended};
}

const MIB = Buffer.alloc(1024 * 1024);

describe('readers of streams of events that do not read', () => {
  test('cost the worker so much together: a follower with more than an equal share in its backlog is cut, the others stay', () => {
    const followers = new Followers(new WorkerMetrics());
    const streams = Array.from({length: 10}, () => {
      const {body: made, ended} = body();
      return {stream: followers.begin('query', made, null, () => undefined), body: made, ended};
    });
    for (const {stream} of streams) stream.write(Buffer.alloc(STREAM_WINDOW_BYTES));
    const small = streams.pop()!;
    let written = 0;
    for (let i = 0; i < 20; i++) {
      for (const {stream} of streams) {
        stream.write(MIB);
        if (stream.isOpen) written += MIB.length;
        expect(followers.bufferedBytes).toBeLessThanOrEqual(FOLLOWERS_BUFFERED_BYTES_MAX + MIB.length);
      }
    }
    expect(written).toBeGreaterThan(FOLLOWERS_BUFFERED_BYTES_MAX / 2);
    expect(streams.some(({ended}) => ended() !== null)).toBe(true);
    expect([small.stream.isOpen, small.ended()]).toEqual([true, null]);
    for (const {body: made} of [...streams, small]) made.cancel();
    expect([followers.bufferedBytes, followers.count('query')]).toEqual([0, 0]);
  });

  test('are owed nothing any more once they have read', async () => {
    const followers = new Followers(new WorkerMetrics());
    const {body: made} = body();
    const stream = followers.begin('journal', made, null, () => undefined);
    for (let i = 0; i < 4; i++) stream.write(MIB);
    expect([stream.isReady, followers.bufferedBytes > 2 * MIB.length]).toEqual([false, true]);
    made.credit(8 * MIB.length);
    await stream.ready();
    expect([stream.isReady, followers.bufferedBytes]).toEqual([true, 0]);
    stream.end(null);
  });

  test('are no more than there is room for', () => {
    const followers = new Followers(new WorkerMetrics());
    const streams = Array.from({length: FOLLOWERS_MAX}, () =>
      followers.begin('journal', body().body, null, () => undefined),
    );
    expect(() => followers.checkRoom()).toThrow(expect.objectContaining({code: 'session.overloaded'}));
    streams[0]!.end(null);
    followers.checkRoom();
    for (const stream of streams) stream.end(null);
  });
});

describe('a stream in which nothing happens', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** What is written to it, until it hears that no more is taken. */
  function read() {
    let text = '';
    const made = new OutgoingBody({
      chunk: chunk => {
        text += chunk.toString();
      },
      end: () => undefined,
    });
    const take = () => {
      const taken = text;
      text = '';
      return taken;
    };
    return {body: made, take};
  }

  test('says every 15 seconds that it lives, unless its reader has not taken what came before', () => {
    const followers = new Followers(new WorkerMetrics());
    const [one, other] = [read(), read()];
    const stream = followers.begin('query', one.body, null, () => undefined);
    expect(one.take()).toBe('retry: 1000\n\n');
    vi.advanceTimersByTime(FOLLOWER_HEARTBEAT_MS);
    expect(one.take()).toBe(':\n\n');
    stream.write(Buffer.alloc(STREAM_WINDOW_BYTES + 1, 'x'));
    one.take();
    followers.begin('query', other.body, null, () => undefined);
    vi.advanceTimersByTime(FOLLOWER_HEARTBEAT_MS);
    expect([one.take(), other.take()]).toEqual(['', 'retry: 1000\n\n:\n\n']);
    one.body.credit(STREAM_WINDOW_BYTES);
    one.take();
    vi.advanceTimersByTime(FOLLOWER_HEARTBEAT_MS);
    expect([one.take(), other.take()]).toEqual([':\n\n', ':\n\n']);
    stream.end(null);
    other.body.cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('says of the journal where it is, so that a reader of few tables comes back behind what it was not sent', async () => {
    const tenant = new TenantParts();
    const {reader, readerDb, writer} = tenant;
    for (const name of ['many', 'few']) tenant.newTable([], 'enabled', name);
    const followers = new Followers(new WorkerMetrics());
    const journal = new JournalReader(readerDb);
    const sequence = () => writer.head.sequence;
    const streams = new JournalFollowers({followers, journal, reader, sequence, log: createLogger({})});
    const [all, few] = [read(), read()];
    const start = writer.head.sequence;
    const request = {after: start, timeline: null, limit: null, isContinued: false};
    streams.follow({...request, tables: null}, () => all.body);
    streams.follow({...request, tables: new Set(['few'])}, () => few.body);
    await vi.advanceTimersByTimeAsync(1);
    const idsOf = (text: string) =>
      [...text.matchAll(/^id: (\d+)\n(data)?/gm)].map(([, id, data]) => [Number(id) - start, data]);
    expect([idsOf(all.take()), idsOf(few.take())]).toEqual([[[0, 'data']], [[0, 'data']]]);
    for (const table of ['many', 'few', 'many', 'many']) tenant.write(insertEffect(table, {}), [streams]);
    expect(idsOf(all.take())).toEqual([1, 2, 3, 4].map(id => [id, 'data']));
    expect(idsOf(few.take())).toEqual([[2, 'data']]);
    await vi.advanceTimersByTimeAsync(FOLLOWER_HEARTBEAT_MS);
    expect([idsOf(all.take()), few.take()]).toEqual([[[4, undefined]], `id: ${start + 4}\n\n`]);
    for (const {body: made} of [all, few]) made.cancel();
    tenant.close();
  });
});

describe('a stream that the router ends', () => {
  test('says why after a whole event, and nothing within one', () => {
    const boundary = new EventBoundary();
    expect(boundary.last(null)!.toString()).toContain('session.worker_unavailable');
    boundary.passed(Buffer.from('data: {"a"'));
    expect(boundary.last(null)).toBeNull();
    boundary.passed(Buffer.from(':1}\n\n'));
    const why = new ServiceError('session.tenant_not_found', 'gone');
    expect(boundary.last(why)!.toString()).toBe(
      'event: end\ndata: {"error":{"code":"session.tenant_not_found","message":"gone"}}\n\n',
    );
  });
});
