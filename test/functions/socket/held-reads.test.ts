/** The queries that sockets hold, with runs that the test makes: what they take, and sessions whose queries never meet by themselves. */
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {
  FUNCTION_SOCKETS_MAX,
  HELD_QUERIES_BYTES_MAX,
  HELD_READ_INTERVALS_MAX,
  HELD_READS_BYTES_MAX,
  MOMENTS_MISSED_MAX,
} from '../../../shared/limits.ts';
import type {ServerMessage, Transition} from '../../../shared/protocol/function-socket/server-message.ts';
import {FUNCTION_PROTOCOL} from '../../../shared/protocol/function-socket/version.ts';
import {Commit} from '../../../worker/commit/commit.ts';
import {HeldQueries, type HeldQueriesParts} from '../../../worker/functions/sync/held-queries.ts';
import type {Ran, Run} from '../../../worker/functions/sync/query-runs.ts';
import {Sync} from '../../../worker/functions/sync/sync.ts';
import type {SocketLink} from '../../../worker/ipc/router-link.ts';
import {LiveIndex} from '../../../worker/live/live-index.ts';
import {WorkerMetrics} from '../../../worker/metrics.ts';
import {ANY_TABLE, BY_ID, type PackedReadSet} from '../../../worker/reads/read-set.ts';
import {until} from '../../harness/until.ts';

/** Reads of documents by their ids. */
function reads(...ids: string[]): PackedReadSet {
  return {intervals: ids.map(id => ({table: ANY_TABLE, index: BY_ID, lower: id, upper: `${id}\0`})), absentTables: []};
}
const range = (from: number, to: number) =>
  Array.from({length: to - from}, (_, n) => `id ${String(from + n).padStart(6, '0')}`);

let index: LiveIndex;
let sequence: number;
let run: (run: Run) => Ran;
let runTogether: HeldQueriesParts['runs']['runTogether'];
let stage: {committed(commit: Commit): void; close(): void};

beforeEach(() => {
  index = new LiveIndex();
  sequence = 0;
  runTogether = async () => {
    throw new Error('nobody asks for it');
  };
});
afterEach(() => stage.close());

const parts = (): HeldQueriesParts => ({
  index,
  metrics: new WorkerMetrics(),
  runs: {run: async asked => run(asked), runTogether: asked => runTogether(asked)},
  shown: error => error,
  sequence,
});

function newSync(): Sync {
  const never = () => Promise.reject(new Error('nobody calls it'));
  const calls = {call: never, mutate: never, verify: never};
  const sync = new Sync({
    ...parts(),
    ...calls,
    isOpen: true,
    allowedOrigins: () => null,
    timeline: 'one',
    clock: Date.now,
  });
  stage = sync;
  return sync;
}

function ran(value: string, readSet: PackedReadSet, at = sequence): Ran {
  const result = {ok: true as const, value, lines: [], own: []};
  return {result, requestId: 'r', sequence: at, readSet, identityUsed: false, endCursor: null, wasKept: false};
}

/** A document of this id is written. */
function write(id: string): void {
  sequence++;
  const change = {table: {number: 1, name: 't'}, doc: 1, id, indexes: [], before: null, after: null, isDamaged: false};
  const commit = new Commit(sequence, 0, [change], [], [{record: '{}', digest: ''}]);
  index.committed(commit);
  stage.committed(commit);
}

describe('what held queries take', () => {
  let held: HeldQueries;
  const asked = (path: string) => ({kind: 'query' as const, path, args: '{}', journal: null});
  const holder = () => ({identity: null, concern: () => undefined});
  const answer = async (query: ReturnType<HeldQueries['hold']>, text: string) => {
    await until(text, () => {
      const {result} = query.answerFor(null) ?? {};
      return result?.ok === true && result.text === text;
    });
  };
  beforeEach(() => {
    held = new HeldQueries(parts());
    stage = held;
  });

  test('includes what they have read, until they are let go', async () => {
    run = () => ran('"many"', reads(...range(0, 1_000)));
    const mine = holder();
    const query = held.hold(mine, asked('m:many'));
    await answer(query, '"many"');
    expect(held.bytes).toBeGreaterThan(1_000 * 2 * 'id 000000'.length);
    run = () => ran('"one"', reads('id 000000'));
    write('id 000500');
    await answer(query, '"one"');
    expect(held.bytes).toBeLessThan(1_000);
    held.release(mine, query);
    expect(held.bytes).toBe(0);
  });

  test('of one that has read more than is watched one by one is bounded, and what it has read is watched all the same', async () => {
    let runs = 0;
    const ids = range(0, HELD_READ_INTERVALS_MAX + 1);
    run = () => ran(String(++runs), reads(...ids));
    const query = held.hold(holder(), asked('m:most'));
    await answer(query, '1');
    expect(held.bytes).toBeLessThan(1_000);
    write(ids[0]!);
    await answer(query, '2');
    write(ids.at(-1)!);
    await answer(query, '3');
  });

  test('is bounded: a further query is refused, and held when there is room', async () => {
    const long = 'x'.repeat(HELD_READS_BYTES_MAX / 2 - 1_000);
    run = () => ran('1', reads(long));
    const mine = holder();
    const queries: ReturnType<HeldQueries['hold']>[] = [];
    const hold = async () => {
      const query = held.hold(mine, asked(`m:q${queries.length}`));
      queries.push(query);
      await answer(query, '1');
    };
    const most = Math.ceil(HELD_QUERIES_BYTES_MAX / (HELD_READS_BYTES_MAX - 2_000));
    for (let n = 0; n < most + 1 && held.bytes < HELD_QUERIES_BYTES_MAX; n++) await hold();
    expect(held.bytes).toBeLessThan(HELD_QUERIES_BYTES_MAX + HELD_READS_BYTES_MAX);
    await expect(hold()).rejects.toMatchObject({code: 'session.overloaded'});
    held.release(mine, queries.pop()!);
    await hold();
  });
});

test('queries that miss each other in every moment are run in one snapshot, and shown together', async () => {
  const messages: ServerMessage[] = [];
  const link: SocketLink = {
    socketMessage: (_, message) => void messages.push(JSON.parse(message) as ServerMessage),
    socketCredit: () => undefined,
    closeSocket: () => undefined,
  };
  let isBusy = true;
  const runs = new Map([
    ['m:a', 0],
    ['m:b', 0],
  ]);
  const together: {runs: number[]; moment: number}[] = [];
  // What each reads is written before its answer is there: an answer is right in one moment, and never in that of the other.
  run = ({path}) => {
    runs.set(path, runs.get(path)! + 1);
    const one = ran(String(sequence), reads('k'));
    if (isBusy) write('k');
    return one;
  };
  runTogether = async asked => {
    const moment = sequence;
    together.push({runs: [...runs.values()], moment});
    write('k');
    return {rans: asked.map(() => ran(String(moment), reads('k'), moment)), sequence: moment};
  };
  const sync = newSync();
  const say = (message: object) => sync.message(link, 1, Buffer.from(JSON.stringify(message)), false);
  sync.opened(link, 1, '');
  say({type: 'client_hello', protocol: FUNCTION_PROTOCOL, client_id: 'client-of-the-test', connection_count: 0});
  const changes = ['m:a', 'm:b'].map((path, n) => ({type: 'add', query_id: n + 1, path, args: {}}));
  say({type: 'query_set', base_version: 0, new_version: 1, changes});
  const transitions = () => messages.filter((one): one is Transition => one.type === 'transition');
  await until('two transitions', () => transitions().filter(one => one.changes.length === 2).length >= 2);
  const [first] = together;
  for (const count of first!.runs) expect(count).toBeGreaterThanOrEqual(MOMENTS_MISSED_MAX - 1);
  const moments = together.map(({moment}) => moment);
  for (const {to, changes} of transitions().filter(one => one.changes.length > 0)) {
    expect(moments).toContain(to.ts);
    expect(changes).toMatchObject([{value: to.ts}, {value: to.ts}]);
  }
  // Left in peace they meet by themselves.
  isBusy = false;
  await until('the newest moment', () => transitions().at(-1)!.to.ts === sequence);
  sync.released(link);
});

test('a tenant has so many sockets at most: a further one is closed with 1013', () => {
  const closes: [number, number, string][] = [];
  const link: SocketLink = {
    socketMessage: () => undefined,
    socketCredit: () => undefined,
    closeSocket: (...close) => void closes.push(close),
  };
  const sync = newSync();
  for (let stream = 1; stream <= FUNCTION_SOCKETS_MAX; stream++) sync.opened(link, stream, '');
  expect(closes).toEqual([]);
  sync.opened(link, FUNCTION_SOCKETS_MAX + 1, '');
  expect(closes).toEqual([[FUNCTION_SOCKETS_MAX + 1, 1013, 'session.overloaded']]);
  sync.closed(link, 1);
  sync.opened(link, FUNCTION_SOCKETS_MAX + 2, '');
  expect(closes).toHaveLength(1);
  expect(sync.sessions).toBe(FUNCTION_SOCKETS_MAX);
});
