/** What the queries that sockets hold take, and what happens where that is too much. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {SUBSCRIBED_READ_INTERVALS_MAX, SUBSCRIBED_READS_BYTES_MAX} from '../../../engine/limits.ts';
import type {PackedReadSet} from '../../../engine/reads/read-set.ts';
import {QUERIES_PER_SOCKET_MAX} from '../../../shared/limits.ts';
import {
  FUNCTION_SOCKETS_MAX,
  LIVE_RUN_AGAIN_MS,
  SUBSCRIBED_QUERIES_BYTES_MAX,
} from '../../../worker/functions/limits.ts';
import {SubscribedQueries} from '../../../worker/functions/sync/queries/subscribed-queries.ts';
import type {SocketLink} from '../../../worker/ipc/router-link.ts';
import {nightly} from '../../harness/nightly.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const range = (from: number, to: number) =>
  Array.from({length: to - from}, (_, n) => `id ${String(from + n).padStart(6, '0')}`);
/** One answer that takes nearly as much as one may. */
const LONG = reads('x'.repeat(SUBSCRIBED_READS_BYTES_MAX / 2 - 1_000));
const LONG_MOST = Math.ceil(SUBSCRIBED_QUERIES_BYTES_MAX / (SUBSCRIBED_READS_BYTES_MAX - 2_000));

let played: Played;
beforeEach(() => {
  played = new Played();
});
afterEach(() => vi.useRealTimers());

const now = (value: unknown, readSet: PackedReadSet) => ran(value, {readSet, sequence: played.sequence});

describe('what held queries take', () => {
  let subscribedQueries: SubscribedQueries;
  const asked = (path: string) => ({kind: 'query' as const, path, args: '{}', journal: null, isInternal: false});
  const holder = () => ({identity: null, concern: () => undefined});
  const answer = async (query: ReturnType<SubscribedQueries['hold']>, text: string) => {
    await until(text, () => {
      const {result} = query.answerFor(null) ?? {};
      return result?.ok === true && result.text === text;
    });
  };
  const error = (query: ReturnType<SubscribedQueries['hold']>) => {
    const {result} = query.answerFor(null) ?? {};
    return result?.ok === false ? result.error : null;
  };
  beforeEach(() => {
    subscribedQueries = new SubscribedQueries(played.subscribedParts());
    played.stage = subscribedQueries;
  });
  afterEach(() => subscribedQueries.close());

  test('includes what they have read, until they are let go', async () => {
    played.run = () => now('many', reads(...range(0, 1_000)));
    const mine = holder();
    const query = subscribedQueries.hold(mine, asked('m:many'));
    await answer(query, '"many"');
    expect(subscribedQueries.bytes).toBeGreaterThan(1_000 * 2 * 'id 000000'.length);
    played.run = () => now('one', reads('id 000000'));
    played.write('id 000500');
    await answer(query, '"one"');
    expect(subscribedQueries.bytes).toBeLessThan(1_000);
    subscribedQueries.release(mine, query);
    expect(subscribedQueries.bytes).toBe(0);
  });

  test('of one that has read more than is watched one by one is bounded, and what it has read is watched all the same', async () => {
    let runs = 0;
    const ids = range(0, SUBSCRIBED_READ_INTERVALS_MAX + 1);
    played.run = () => now(++runs, reads(...ids));
    const query = subscribedQueries.hold(holder(), asked('m:most'));
    await answer(query, '1');
    expect(subscribedQueries.bytes).toBeLessThan(1_000);
    played.write(ids[0]!);
    await answer(query, '2');
    played.write(ids.at(-1)!);
    await answer(query, '3');
  });

  test('is bounded: a further query is refused, and held when there is room', async () => {
    played.run = () => now(1, LONG);
    const mine = holder();
    const queries: ReturnType<SubscribedQueries['hold']>[] = [];
    const hold = async () => {
      const query = subscribedQueries.hold(mine, asked(`m:q${queries.length}`));
      queries.push(query);
      await answer(query, '1');
    };
    for (
      let n = 0;
      n < LONG_MOST && subscribedQueries.bytes + SUBSCRIBED_READS_BYTES_MAX <= SUBSCRIBED_QUERIES_BYTES_MAX;
      n++
    )
      await hold();
    expect(subscribedQueries.bytes).toBeLessThan(SUBSCRIBED_QUERIES_BYTES_MAX);
    await expect(hold()).rejects.toMatchObject({code: 'session.overloaded'});
    subscribedQueries.release(mine, queries.pop()!);
    await hold();
  });

  nightly.test(
    'is bounded when they grow, too: one that would take more has an error for its answer, and grows once there is room',
    async () => {
      let readSet = reads('k');
      played.run = () => now(1, readSet);
      const mine = holder();
      const growing = subscribedQueries.hold(mine, asked('m:growing'));
      await answer(growing, '1');
      played.run = ({path}) => now(1, path === 'm:growing' ? readSet : LONG);
      const others: ReturnType<SubscribedQueries['hold']>[] = [];
      while (subscribedQueries.bytes + SUBSCRIBED_READS_BYTES_MAX <= SUBSCRIBED_QUERIES_BYTES_MAX) {
        const query = subscribedQueries.hold(mine, asked(`m:q${others.length}`));
        others.push(query);
        await answer(query, '1');
      }
      readSet = reads('k', 'y'.repeat(SUBSCRIBED_READS_BYTES_MAX / 2 - 1_000));
      played.write('k');
      await until('its error', () => error(growing)?.includes('as much as they may'));
      expect(subscribedQueries.bytes).toBeLessThan(SUBSCRIBED_QUERIES_BYTES_MAX);
      subscribedQueries.release(mine, others.pop()!);
      await answer(growing, '1');
    },
  );
});

describe('a query that found no room', () => {
  test('of the tenant is an error until there is some, and then what it answers', async () => {
    played.run = ({path}) => now(path, path === 'm:late' ? reads() : LONG);
    const sync = played.sync();
    const [first, late] = [new PlayedClient(sync), new PlayedClient(sync)];
    const paths = Array.from({length: LONG_MOST}, (_, n) => `m:q${n}`);
    first.watch(paths);
    await until('what there is', () => first.shown(paths.length) !== undefined);
    late.watch(['m:late']);
    await until('the refusal', () => late.shown(1) !== undefined);
    expect(late.shown(1)).toBe('! this tenant holds as many live queries as it may');
    first.remove(1, 2, 3);
    await until('its answer', () => late.shown(1) === 'm:late');
    for (const client of [first, late]) client.leave();
  });

  test('waits for it as long as it is watched', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    let runs = 0;
    played.run = ({path}) => {
      if (path === 'm:late') runs++;
      return now(path, LONG);
    };
    const sync = played.sync();
    const [first, late] = [new PlayedClient(sync), new PlayedClient(sync)];
    first.watch(Array.from({length: LONG_MOST}, (_, n) => `m:q${n}`));
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
    late.watch(['m:late']);
    late.remove(1);
    first.leave();
    await vi.advanceTimersByTimeAsync(2 * LIVE_RUN_AGAIN_MS);
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve));
    expect([runs, sync.queries]).toEqual([0, 0]);
    late.leave();
  });

  test('is held once, also when its socket finds room for it before it hears of any', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    played.run = ({path}) => now(path, path.startsWith('m:q') ? LONG : reads());
    const turns = async () => {
      for (let turn = 0; turn < 200; turn++) await new Promise(resolve => setImmediate(resolve));
    };
    const sync = played.sync();
    const [first, late] = [new PlayedClient(sync), new PlayedClient(sync)];
    first.watch(Array.from({length: LONG_MOST}, (_, n) => `m:q${n}`));
    await turns();
    late.watch(['m:late']);
    first.remove(1, 2, 3);
    late.watch(
      Array.from({length: QUERIES_PER_SOCKET_MAX}, (_, n) => `m:short${n}`),
      2,
    );
    await turns();
    late.remove(2);
    late.remove(1);
    await vi.advanceTimersByTimeAsync(2 * LIVE_RUN_AGAIN_MS);
    await turns();
    expect(sync.queries).toBe(LONG_MOST - 3 + QUERIES_PER_SOCKET_MAX - 1);
    for (const client of [first, late]) client.leave();
    expect(sync.queries).toBe(0);
  });

  test('on its own socket is held when another one has gone from there', async () => {
    played.run = ({path}) => ran(path);
    const client = new PlayedClient(played.sync());
    const paths = Array.from({length: QUERIES_PER_SOCKET_MAX + 1}, (_, n) => `m:q${n}`);
    client.watch(paths);
    await until('all', () => client.shown(paths.length) !== undefined);
    expect(client.shown(paths.length)).toBe(`! a socket holds at most ${QUERIES_PER_SOCKET_MAX} queries`);
    client.remove(1);
    await until('the last', () => client.shown(paths.length) === paths.at(-1));
    client.leave();
  });
});

test('a tenant has so many sockets at most: a further one takes the place of the oldest on which nothing was asked for', () => {
  const closes: [number, number, string][] = [];
  const link: SocketLink = {
    socketMessage: () => undefined,
    socketCredit: () => undefined,
    socketResumes: () => undefined,
    closeSocket: (...close) => void closes.push(close),
  };
  const sync = played.sync();
  for (let stream = 1; stream <= FUNCTION_SOCKETS_MAX; stream++) sync.opened(link, stream, '', null);
  expect(closes).toEqual([]);
  sync.opened(link, FUNCTION_SOCKETS_MAX + 1, '', null);
  expect(closes).toEqual([[1, 1013, 'session.overloaded']]);
  sync.closed(link, 2);
  sync.opened(link, FUNCTION_SOCKETS_MAX + 2, '', null);
  expect(closes).toHaveLength(1);
  expect(sync.sessions).toBe(FUNCTION_SOCKETS_MAX);
  sync.released(link);
});
