/** What nobody expected: an error of one query, one message or one session, and of nothing else. */
import {afterEach, describe, expect, onTestFinished, test, vi} from 'vitest';
import {ServiceError} from '../../../shared/errors.ts';
import {LIVE_RUN_AGAIN_MS, LIVE_RUN_AGAIN_MS_MAX} from '../../../worker/functions/limits.ts';
import type {Ran} from '../../../worker/functions/sync/queries/query-runs.ts';
import {SubscribedQueries} from '../../../worker/functions/sync/queries/subscribed-queries.ts';
import type {SubscribedQuery} from '../../../worker/functions/sync/queries/subscribed-query.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const BUG = 'this is a bug';
const failures = (played: Played, what: string) => played.counted('svc_function_socket_failures_total', what);

afterEach(() => vi.useRealTimers());

describe('an error that nobody expected', () => {
  test('of the run of a query is an error of that query, logged with its stack, and others go on', async () => {
    const played = new Played();
    played.run = ({path}) => {
      if (path === 'm:bad') throw new TypeError(BUG);
      return ran(played.sequence, {readSet: reads('k'), sequence: played.sequence});
    };
    const client = new PlayedClient(played.sync());
    client.watch(['m:bad', 'm:good']);
    await until('both', () => client.shown(1) !== undefined && client.shown(2) !== undefined);
    expect(client.shown(1)).toBe("! Your request couldn't be completed. Try again later.");
    played.write('k');
    await until('the other', () => client.shown(2) === 1);
    expect(played.logged).toMatchObject([{what: 'query', path: 'm:bad', error: {stack: expect.stringContaining(BUG)}}]);
    expect(failures(played, 'query')).toBe(1);
    client.leave();
  });

  test('of a run that is tried again goes away with it', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    const played = new Played();
    let runs = 0;
    played.run = () => {
      if (++runs < 3) throw new TypeError(BUG);
      return ran('fine');
    };
    const client = new PlayedClient(played.sync());
    client.watch(['m:a']);
    const looked = async (what: () => boolean) => {
      for (let turn = 0; turn < 100 && !what(); turn++) await new Promise(resolve => setImmediate(resolve));
      expect(what()).toBe(true);
    };
    await looked(() => client.shown(1) !== undefined);
    await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS);
    await looked(() => runs === 2);
    // The second time it takes twice as long.
    await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS);
    expect(runs).toBe(2);
    await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS);
    await looked(() => client.shown(1) === 'fine');
    client.leave();
  });

  test('is reported once, however often it is tried again', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    const played = new Played();
    let runs = 0;
    played.run = () => {
      runs++;
      throw new TypeError(BUG);
    };
    const client = new PlayedClient(played.sync());
    client.watch(['m:a']);
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
    for (let round = 0; round < 5; round++) {
      await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS_MAX);
      for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
    }
    expect(runs).toBeGreaterThanOrEqual(5);
    expect(client.transitions.flatMap(({changes}) => changes)).toHaveLength(1);
    client.leave();
  });

  test('of queries that are run together leaves them to be run alone', async () => {
    const played = new Played();
    const sync = played.sync();
    let isBusy = true;
    // What each reads is written before its answer is there, so that the two never meet.
    played.run = () => {
      const one = ran(played.sequence, {readSet: reads('k'), sequence: played.sequence});
      if (isBusy) played.write('k');
      return one;
    };
    played.runTogether = () => {
      isBusy = false;
      return Promise.reject(new TypeError(BUG));
    };
    const client = new PlayedClient(sync);
    client.watch(['m:a', 'm:b']);
    await until('a moment of both', () => client.shown(1) === played.sequence && client.shown(2) === played.sequence);
    expect(failures(played, 'query')).toBe(1);
    client.leave();
  });

  test.each(['mutation', 'action'] as const)('of a call, a %s, is its answer', async type => {
    const played = new Played();
    const client = new PlayedClient(played.sync());
    client.say({type, request_id: 1, path: 'm:a', args: {}, settled_below: 0});
    await until('an answer', () => client.messages.some(one => one.type === `${type}_result`));
    expect(client.messages.at(-1)).toMatchObject({request_id: 1, ok: false, code: 'op.failed'});
    expect(failures(played, 'call')).toBe(1);
    client.leave();
  });

  test('of the verification of a token refuses it', async () => {
    const played = new Played();
    const client = new PlayedClient(played.sync());
    client.authenticate('a token');
    await until('an answer', () => client.messages.some(({type}) => type === 'auth_error'));
    expect(failures(played, 'token')).toBe(1);
    client.leave();
  });

  test('of a message ends that socket, to come again, and no other', async () => {
    const played = new Played();
    played.run = () => ran('fine');
    const sync = played.sync();
    const [bad, good] = [new PlayedClient(sync), new PlayedClient(sync)];
    vi.spyOn(SubscribedQueries.prototype, 'hold').mockImplementationOnce(() => {
      throw new TypeError(BUG);
    });
    bad.watch(['m:a']);
    good.watch(['m:a']);
    await until('the other', () => good.shown(1) === 'fine');
    expect([bad.closed, good.closed]).toEqual([{code: 1011, reason: 'op.failed'}, null]);
    expect(failures(played, 'message')).toBe(1);
    good.leave();
  });

  test('where a token is taken ends that socket, to come again, and no other', async () => {
    const played = new Played();
    played.run = () => ran('fine');
    played.verify = async token => ({
      identity: JSON.stringify({tokenIdentifier: token}),
      expMs: Number.POSITIVE_INFINITY,
    });
    const sync = played.sync();
    const [bad, good] = [new PlayedClient(sync), new PlayedClient(sync)];
    for (const client of [bad, good]) client.watch(['m:a']);
    vi.spyOn(SubscribedQueries.prototype, 'identityChanged').mockImplementationOnce(() => {
      throw new TypeError(BUG);
    });
    for (const client of [bad, good]) client.authenticate('a token');
    await until('the other', () => good.transitions.some(({to}) => to.identity === 1));
    expect([bad.closed, good.closed]).toEqual([{code: 1011, reason: 'op.failed'}, null]);
    expect(failures(played, 'token')).toBe(1);
    good.leave();
  });

  test('where a query is tried again that found no room ends that socket, and no other', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    const played = new Played();
    played.run = () => ran('fine');
    const sync = played.sync();
    const hold = vi.spyOn(SubscribedQueries.prototype, 'hold').mockImplementation(() => {
      throw new ServiceError('session.overloaded', 'there is no room');
    });
    const [bad, good] = [new PlayedClient(sync), new PlayedClient(sync)];
    for (const client of [bad, good]) client.watch(['m:a']);
    hold.mockRestore();
    vi.spyOn(SubscribedQueries.prototype, 'hold').mockImplementationOnce(() => {
      throw new TypeError(BUG);
    });
    await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS);
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
    expect([bad.closed, good.closed]).toEqual([{code: 1011, reason: 'op.failed'}, null]);
    expect(good.shown(1)).toBe('fine');
    good.leave();
  });
});

test('what is refused for overload shows nothing at first, then an error, and is tried again all the time', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  const played = new Played();
  let isBusy = true;
  const atMs: number[] = [];
  played.run = () => {
    atMs.push(vi.getMockedSystemTime()?.getTime() ?? 0);
    if (isBusy) throw new ServiceError('session.overloaded', 'too many queries are waiting');
    return ran('fine');
  };
  const client = new PlayedClient(played.sync());
  client.watch(['m:a']);
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve));
  };
  await turns();
  expect(client.shown(1)).toBeUndefined();
  for (let waitMs = LIVE_RUN_AGAIN_MS; waitMs <= 4 * LIVE_RUN_AGAIN_MS; waitMs *= 2) {
    await vi.advanceTimersByTimeAsync(waitMs);
    await turns();
  }
  expect(client.shown(1)).toMatch(/^! /);
  const before = atMs.length;
  for (let n = 0; n < 10; n++) {
    await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS_MAX);
    await turns();
  }
  expect(atMs.length).toBeGreaterThanOrEqual(before + 9);
  isBusy = false;
  await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS_MAX);
  await turns();
  expect(client.shown(1)).toBe('fine');
  client.leave();
});

describe('a refusal that comes when it is known better whether the function looks at who asks', () => {
  const asked = {kind: 'query' as const, path: 'm:a', args: '{}', journal: null, isInternal: false};
  const refusal = () => new ServiceError('op.storage_damaged', 'a row is damaged');
  const holder = (identity: string) => ({identity, concern: () => undefined});
  const text = (query: SubscribedQuery, identity: string) => {
    const result = query.answerFor(identity)?.result;
    return result?.ok === true ? result.text : result?.error;
  };

  function newSubscribed(): {played: Played; subscribedQueries: SubscribedQueries} {
    const played = new Played();
    const subscribedQueries = new SubscribedQueries(played.subscribedParts());
    played.stage = subscribedQueries;
    onTestFinished(() => subscribedQueries.close());
    return {played, subscribedQueries};
  }

  test('leaves what all share by now', async () => {
    const {played, subscribedQueries} = newSubscribed();
    const now = (value: unknown, identityUsed: boolean) =>
      ran(value, {identityUsed, readSet: reads('k'), sequence: played.sequence});
    played.run = ({identity}) => now(identity, true);
    const query = subscribedQueries.hold(holder('ada'), asked);
    subscribedQueries.hold(holder('grace'), asked);
    await until('an answer to each', () => text(query, 'ada') === '"ada"' && text(query, 'grace') === '"grace"');
    const ends = new Map<string | null, {resolve: (one: Ran) => void; reject: (error: Error) => void}>();
    played.run = ({identity}) => new Promise((resolve, reject) => ends.set(identity, {resolve, reject}));
    played.write('k');
    await until('both runs', () => ends.size === 2);
    ends.get('ada')!.resolve(now('for all', false));
    await until('what all share', () => text(query, 'grace') === '"for all"');
    ends.get('grace')!.reject(refusal());
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve));
    expect([text(query, 'ada'), text(query, 'grace')]).toEqual(['"for all"', '"for all"']);
  });

  test('leaves what users have that are distinguished by now', async () => {
    const {played, subscribedQueries} = newSubscribed();
    let reject: ((error: Error) => void) | undefined;
    played.run = () => new Promise((_, rejects) => (reject = rejects));
    played.runTogether = async () => ({rans: [ran('ada', {identityUsed: true})], sequence: 0});
    const ada = holder('ada');
    const query = subscribedQueries.hold(ada, asked);
    await until('its run', () => reject);
    await subscribedQueries.together([{query, holder: ada}], 0);
    expect(text(query, 'ada')).toBe('"ada"');
    reject!(refusal());
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve));
    expect(text(query, 'ada')).toBe('"ada"');
  });
});
