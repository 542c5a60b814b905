/** What the results of live queries may take together: the query that exceeds it ends, on a socket and as a stream of events. */
import {afterAll, afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {OutgoingBody} from '../../engine/io/outgoing-body.ts';
import {LIVE_RESERVE_DOCUMENTS} from '../../engine/limits.ts';
import {LiveIndex} from '../../engine/live/live-index.ts';
import {type LiveHolder, LiveQueries} from '../../engine/live/live-queries.ts';
import {LiveQuery} from '../../engine/live/live-query.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import {Followers} from '../../worker/api/follow/followers.ts';
import {ResultFollowers} from '../../worker/api/follow/result-followers.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const BYTES_MAX = 20_000;
const KIB = 'x'.repeat(1_000);

const tenant = new TenantParts();
afterAll(() => tenant.close());

/** A router: the last message about each stream. */
class Router implements LiveHolder {
  readonly told = new Map<number, string | Error>();

  live(stream: number, text: string): void {
    this.told.set(stream, text);
  }

  liveBehind(): void {}

  liveFailed(stream: number, error: Error): void {
    this.told.set(stream, error);
  }

  liveEnd(): void {}

  length(stream: number): number {
    return (JSON.parse(this.told.get(stream) as string) as unknown[]).length;
  }
}

// No time passes: on a busy machine a query would leave for a scan thread, and there is none.
beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

let table: string;
let index: LiveIndex;
let live: LiveQueries;
let router: Router;
beforeEach(() => {
  ({name: table} = tenant.newTable());
  const {reader, writer} = tenant;
  index = new LiveIndex();
  router = new Router();
  live = new LiveQueries({
    index,
    reader,
    scans: {live: () => () => {}},
    metrics: new WorkerMetrics(),
    sequence: () => writer.head.sequence,
    count: () => 0,
    bytesMax: BYTES_MAX,
  });
});

const queryOf = (kind: string): LiveQueryObject => ({table, filters: [{field: 'kind', op: 'eq', value: kind}]});

/** A document of so many bytes and some. */
function insert(kind: string, text = KIB): void {
  tenant.write(insertEffect(table, {kind, text}), [index, live]);
}

describe('a live query whose result grows beyond what all may take', () => {
  test('ends with session.overloaded, and the others go on', () => {
    live.subscribe(router, 1, queryOf('a'));
    live.subscribe(router, 2, queryOf('b'));
    insert('b');
    let grown = 0;
    while (!(router.told.get(1) instanceof Error)) {
      insert('a');
      expect(++grown).toBeLessThan(20);
    }
    expect(router.told.get(1)).toMatchObject({code: 'session.overloaded', message: expect.stringContaining('limit')});
    // A document is kept apart and in the text.
    expect(grown).toBe(8);
    insert('b');
    expect(router.length(2)).toBe(2);
    live.subscribe(router, 3, queryOf('a'));
    expect(router.told.get(3)).toMatchObject({code: 'session.overloaded'});
    live.subscribe(router, 4, {...queryOf('a'), limit: 2});
    expect(router.length(4)).toBe(2);
    expect(live.size).toBe(2);
  });

  test('ends its stream of events with an event that says so', () => {
    const followers = new Followers(new WorkerMetrics());
    let text = '';
    let ended: string | null | undefined;
    const start = () =>
      new OutgoingBody({
        chunk: chunk => {
          text += chunk.toString();
        },
        end: reason => {
          ended = reason;
        },
      });
    new ResultFollowers(followers, live).follow(queryOf('a'), null, start);
    for (let i = 0; i < 12; i++) insert('a');
    const {error} = JSON.parse(/event: end\ndata: (.*)\n\n$/.exec(text)![1]!) as {error: {code: string}};
    expect([error.code, ended, live.size, followers.count('query')]).toEqual(['session.overloaded', null, 0, 0]);
  });
});

test('what a result from a scan thread keeps in reserve counts, too', () => {
  const query = new LiveQuery({table, filters: [], limit: 1});
  query.scan();
  const docs = Array.from({length: 1 + LIVE_RESERVE_DOCUMENTS}, (_, doc) => doc + 1);
  query.take({
    docs,
    created: docs,
    texts: docs.map(() => JSON.stringify(KIB)),
    bytes: docs.map(() => KIB.length + 2),
    keys: new Uint8Array(),
    keyEnds: docs.map(() => 0),
  });
  query.taken(false);
  query.refresh(tenant.reader);
  expect(query.text.length).toBeLessThan(2 * KIB.length);
  expect(query.bytes).toBeGreaterThan(docs.length * KIB.length);
  for (const doc of docs.slice(1)) query.write(doc, null);
  expect(query.bytes).toBeLessThan(3 * KIB.length);
});
