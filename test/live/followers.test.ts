/** Followers of a tenant, without a service: what they cost while they do not read. */
import {describe, expect, test} from 'vitest';
import {EventBoundary} from '../../router/http/event-boundary.ts';
import {ServiceError} from '../../shared/errors.ts';
import {FOLLOWERS_MAX, FOLLOWERS_OWED_BYTES_MAX, STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {Followers} from '../../worker/follow/followers.ts';
import {OutgoingBody} from '../../worker/ipc/outgoing-body.ts';
import {WorkerMetrics} from '../../worker/metrics.ts';

/** A body, and how it ended: `whole`, or why it was cut; null while it is open. */
function body(): {body: OutgoingBody; ended: () => string | null} {
  let ended: string | null = null;
  const made = new OutgoingBody({
    piece: () => undefined,
    end: reason => {
      ended = reason ?? 'whole';
    },
  });
  return {body: made, ended: () => ended};
}

const MIB = Buffer.alloc(1024 * 1024);

describe('readers of streams of events that do not read', () => {
  test('cost the worker so much together: whoever is owed more than an equal share is cut, the others stay', () => {
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
        expect(followers.owedBytes).toBeLessThanOrEqual(FOLLOWERS_OWED_BYTES_MAX + MIB.length);
      }
    }
    expect(written).toBeGreaterThan(FOLLOWERS_OWED_BYTES_MAX / 2);
    expect(streams.some(({ended}) => ended() !== null)).toBe(true);
    expect([small.stream.isOpen, small.ended()]).toEqual([true, null]);
    for (const {body: made} of [...streams, small]) made.cancel();
    expect([followers.owedBytes, followers.count('query')]).toEqual([0, 0]);
  });

  test('are owed nothing any more once they have read', async () => {
    const followers = new Followers(new WorkerMetrics());
    const {body: made} = body();
    const stream = followers.begin('journal', made, null, () => undefined);
    for (let i = 0; i < 4; i++) stream.write(MIB);
    expect([stream.isReady, followers.owedBytes > 2 * MIB.length]).toEqual([false, true]);
    made.credit(8 * MIB.length);
    await stream.ready();
    expect([stream.isReady, followers.owedBytes]).toEqual([true, 0]);
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
