/** The cache of one tenant in a router, whose worker is a script. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {CACHED_PATH_CHARS_MAX} from '../../router/limits.ts';
import {limitsOfOne, reservedTotal} from '../../router/router-limits.ts';
import {PlacedTenant} from '../../router/tenants/placed-tenant.ts';
import {CacheSpace} from '../../router/workers/cache-space.ts';
import {ServiceError} from '../../shared/errors.ts';
import {FrameFlag, FrameKind} from '../../shared/ipc/frame.ts';
import {CACHE_LEASE_MS, DROPPED_BYTES_MAX} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {until} from '../harness/until.ts';
import {RecordedRequest, ScriptedWorker} from './scripted-worker.ts';

const log = createLogger({}, {write: () => undefined});
const TAG = '"1-1"';
const moves = new ServiceError('session.worker_unavailable', 'the tenant moves');
const SPACE_BYTES = 7_200;
let space: CacheSpace;
let malformed: string[];
let workers: ScriptedWorker[];
let tenant: PlacedTenant;

beforeEach(() => {
  [malformed, workers] = [[], []];
  tenant = tenantOf(1);
});
afterEach(() => {
  vi.useRealTimers();
  for (const worker of workers) worker.die();
});

function tenantOf(routers: number): PlacedTenant {
  space = new CacheSpace(SPACE_BYTES);
  return new PlacedTenant('acme', {
    log,
    hub: () => {
      throw new Error('these tests open no sockets');
    },
    metrics: new RouterMetrics(),
    bytes: reservedTotal(limitsOfOne(1)),
    cache: space,
    limits: limitsOfOne(1),
    hasPeers: routers > 1,
    wake: () => undefined,
    dial: () => {
      throw new Error('these tests have one host');
    },
    lost: () => undefined,
    onTraffic: () => undefined,
    malformed: (_, why) => void malformed.push(why),
    givenUp: () => undefined,
    answered: () => undefined,
    onRefused: () => undefined,
  });
}

async function newWorker(runsCode = false): Promise<ScriptedWorker> {
  const worker = new ScriptedWorker('acme', runsCode);
  workers.push(worker);
  await worker.listen();
  tenant.workerReady(worker.address);
  return worker;
}

const named = (id: string) => ({table: 't', id});
const now = () => performance.now();
const cachedText = (id: string, atMs = now()) => tenant.cached(named(id), atMs)?.body.toString() ?? null;

/** A get goes to the worker, which answers it. */
async function get(worker: ScriptedWorker, id: string, more = {flags: FrameFlag.cacheable as number, meta: TAG}) {
  const request = new RecordedRequest(true, '', null, {cacheAs: named(id)});
  const frames = worker.frames.length;
  tenant.forward(request);
  await worker.received(Math.max(2, frames + 1));
  worker.answer(more.meta, `text of ${id}`, more.flags);
  return await request.outcome;
}

/** What the worker sent before has been read. */
async function drop(worker: ScriptedWorker, body: string): Promise<void> {
  const frames = worker.frames.length;
  worker.send(FrameKind.dropCached, 0, FrameFlag.none, '7', body);
  await worker.received(frames + 1);
  expect(worker.frames.at(-1)).toMatchObject({kind: FrameKind.dropCached, meta: '7'});
}

test('an answer that the worker allows to cache is found under its table and id, until the worker drops it', async () => {
  const worker = await newWorker();
  expect(await get(worker, 'a')).toBe('200 text of a');
  await get(worker, 'b');
  expect([cachedText('a'), cachedText('b')]).toEqual(['text of a', 'text of b']);
  expect(tenant.cached({table: 'other', id: 'a'}, now())).toBeNull();
  await drop(worker, '["a","x"]');
  expect([cachedText('a'), cachedText('b')]).toEqual([null, 'text of b']);
  await drop(worker, '');
  expect([cachedText('b'), space.bytes]).toEqual([null, 0]);
});

test('a drop without a number is not confirmed', async () => {
  const worker = await newWorker();
  await get(worker, 'a');
  const frames = worker.frames.length;
  worker.send(FrameKind.dropCached, 0, FrameFlag.none, '', '["a"]');
  await until('the drop', () => cachedText('a') === null);
  await get(worker, 'b');
  expect(worker.frames.slice(frames).map(({kind}) => kind)).toEqual([FrameKind.request]);
});

test.each([
  ['not allowed', {flags: FrameFlag.none, meta: TAG}],
  ['without an ETag', {flags: FrameFlag.cacheable, meta: ''}],
  ['not a success', {flags: FrameFlag.cacheable, meta: '{"s":404}'}],
  ['a 304', {flags: FrameFlag.cacheable, meta: `{"s":304,"e":${JSON.stringify(TAG)}}`}],
  [
    'with headers of its own',
    {flags: FrameFlag.cacheable, meta: `{"s":200,"e":${JSON.stringify(TAG)},"h":[["a","b"]]}`},
  ],
])('an answer that is %s is not cached', async (_, more) => {
  await get(await newWorker(), 'a', more);
  expect([cachedText('a'), space.bytes]).toEqual([null, 0]);
});

test('an entity tag in a list is malformed: an answer from memory with it would end the router', async () => {
  const worker = await newWorker();
  tenant.forward(new RecordedRequest(true, '', null, {cacheAs: named('a')}));
  await worker.received(2);
  worker.answer(`{"s":200,"e":[${JSON.stringify(TAG)}]}`, 'text of a', FrameFlag.cacheable);
  await until('the answer', () => malformed.length > 0 || cachedText('a') !== null);
  expect(cachedText('a')).toBeNull();
});

test.each([
  ['no JSON', '{'],
  ['a number', '5'],
  ['another list', '["a",5.5]'],
  ['an object', '{"a":1}'],
  ['too long a list', JSON.stringify(['a'.repeat(DROPPED_BYTES_MAX)])],
])('a drop of %s is malformed', async (_, body) => {
  const worker = await newWorker();
  await get(worker, 'a');
  worker.send(FrameKind.dropCached, 0, FrameFlag.none, '1', body);
  await until('the end of the link', () => malformed.length > 0);
  expect([cachedText('a'), space.bytes]).toEqual([null, 0]);
});

describe('nothing is answered from memory', () => {
  const ends: [string, (worker: ScriptedWorker) => unknown][] = [
    [
      'the worker died',
      worker => {
        worker.die();
        return until('its loss', () => tenant.link === null);
      },
    ],
    ['the supervisor says so', () => tenant.workerFailed(moves, 1)],
    ['the tenant moves', () => tenant.giveUp(moves)],
    ['it is idle', () => tenant.release()],
    ['it is removed', () => tenant.remove(false)],
    ['it is replaced', () => tenant.remove(true)],
    ['there is another worker', () => newWorker()],
  ];
  test.each(ends)('once %s', async (_, end) => {
    const worker = await newWorker();
    await get(worker, 'a');
    expect(cachedText('a')).toBe('text of a');
    await end(worker);
    expect([cachedText('a'), space.bytes]).toEqual([null, 0]);
  });

  test('from the moment on until which the host owns the tenant', async () => {
    await get(await newWorker(), 'a');
    const endsMs = now() + 1e6;
    tenant.answersUntilMs = endsMs;
    expect([tenant.mayAnswer(endsMs - 1), tenant.mayAnswer(endsMs)]).toEqual([true, false]);
    expect([cachedText('a', endsMs - 1), cachedText('a', endsMs)]).toEqual(['text of a', null]);
  });

  test('when the lease has ended, if a client can learn of a commit in another way', async () => {
    vi.useFakeTimers({toFake: ['performance']});
    for (const [routers, runsCode] of [
      [2, false],
      [1, true],
      [1, false],
    ] as const) {
      tenant = tenantOf(routers);
      await get(await newWorker(runsCode), 'a');
      const isLeased = routers > 1 || runsCode;
      expect(cachedText('a')).toBe('text of a');
      expect(cachedText('a', now() + CACHE_LEASE_MS)).toBe(isLeased ? null : 'text of a');
    }
  });
});

test('in the second half of a lease, one read goes to the worker, and its answer begins a new lease', async () => {
  vi.useFakeTimers({toFake: ['performance']});
  tenant = tenantOf(2);
  const worker = await newWorker();
  await get(worker, 'a');
  expect(cachedText('a', now() + CACHE_LEASE_MS / 2 - 1)).toBe('text of a');
  vi.advanceTimersByTime(CACHE_LEASE_MS - 1);
  expect([cachedText('a'), cachedText('a')]).toEqual([null, 'text of a']);
  await get(worker, 'a');
  expect(cachedText('a', now() + CACHE_LEASE_MS / 2 - 1)).toBe('text of a');
});

test('a read is worth caching when it is the second in a while, or was cached before', async () => {
  const worker = await newWorker();
  expect(['a', 'b', 'a'].map(id => tenant.wantsCached(named(id)))).toEqual([false, false, true]);
  await get(worker, 'c');
  expect(tenant.wantsCached(named('c'))).toBe(true);
});

test('beyond the space of all tenants, the oldest documents go, but those that were read since', async () => {
  const worker = await newWorker();
  const ids = Array.from({length: 12}, (_, n) => `document-${n}`);
  for (const id of ids) {
    await get(worker, id);
    cachedText('document-0');
  }
  expect(space.bytes).toBeLessThanOrEqual(SPACE_BYTES);
  expect(ids.filter(id => cachedText(id) !== null)).toEqual(['document-0', ...ids.slice(-8)]);
});

describe('the path of a document that was answered', () => {
  const path = (id: string) => `/api/tenants/acme/documents/t/${id}`;
  const answered = (id: string, under = path(id)) => {
    tenant.link!.cache.note(tenant.cached(named(id), now())!, under, 'acme');
  };

  test('is remembered until the document is dropped, and its memory is counted', async () => {
    const worker = await newWorker();
    await get(worker, 'a');
    await get(worker, 'b');
    const {bytes} = space;
    answered('a');
    answered('a');
    expect(space.namesIn(path('a'))).toEqual(['acme', 't', 'a']);
    expect(space.namesIn(path('b'))).toBeUndefined();
    expect(space.bytes).toBe(bytes + path('a').length);
    answered('b');
    await drop(worker, '["a"]');
    expect([space.namesIn(path('a')), space.namesIn(path('b'))]).toEqual([undefined, ['acme', 't', 'b']]);
    await drop(worker, '');
    expect([space.namesIn(path('b')), space.bytes]).toEqual([undefined, 0]);
  });

  test('finds room as documents do', async () => {
    const worker = await newWorker();
    const ids = Array.from({length: 12}, (_, n) => `document-${n}`);
    for (const id of ids) {
      await get(worker, id);
      if (cachedText(id) !== null) answered(id, `${path(id)}${'x'.repeat(150)}`);
      expect(space.bytes).toBeLessThanOrEqual(SPACE_BYTES);
    }
  });

  test.each([
    ['an escape', '/api/tenants/acme/documents/t/%61'],
    ['very many characters', `/api/tenants/acme/documents/${'t'.repeat(CACHED_PATH_CHARS_MAX)}/a`],
  ])('with %s is not remembered', async (_, under) => {
    await get(await newWorker(), 'a');
    answered('a', under);
    expect(space.namesIn(under)).toBeUndefined();
  });
});

describe('a result of a call', () => {
  const called = (id: string) => ({table: null, id});
  const text = (id: string) => tenant.cached(called(id), now())?.body.toString() ?? null;

  async function call(worker: ScriptedWorker, id: string, meta: string) {
    const request = new RecordedRequest(true, '', null, {cacheAs: called(id)});
    const frames = worker.frames.length;
    tenant.forward(request);
    await worker.received(Math.max(2, frames + 1));
    worker.answer(meta, `text of ${id}`, FrameFlag.cacheable);
    return await request.outcome;
  }

  test('is found under its own name, with its headers, until the worker drops its number', async () => {
    const worker = await newWorker();
    await call(worker, 'a', '{"s":200,"c":[7,"query m:f"],"h":[["Vary","Origin"]]}');
    await call(worker, 'same', '{"s":200,"c":[7,"query m:f"]}');
    await call(worker, 'b', '{"s":200,"c":[8,"query m:f"]}');
    expect(tenant.cached(called('a'), now())).toMatchObject({headers: [['Vary', 'Origin']], call: 'query m:f'});
    expect(tenant.cached(named('a'), now())).toBeNull();
    await drop(worker, '[7]');
    expect(['a', 'same', 'b'].map(text)).toEqual([null, null, 'text of b']);
    await drop(worker, '[8,9]');
    expect([text('b'), space.bytes]).toEqual([null, 0]);
  });

  test.each(['{"s":200}', TAG, '{"s":404,"c":[7,"query m:f"]}', '{"s":200,"t":"text/plain","c":[7,"query m:f"]}'])(
    'answered with %s is not cached',
    async meta => {
      await call(await newWorker(), 'a', meta);
      expect([text('a'), space.bytes]).toEqual([null, 0]);
    },
  );

  test.each(['[0,"query m:f"]', '["7","query m:f"]', '[7]', '[7,8]', '{}', `[7,"${'x'.repeat(1_025)}"]`])(
    'with %s for its number and name is malformed',
    async c => {
      const worker = await newWorker();
      tenant.forward(new RecordedRequest(true, '', null, {cacheAs: called('a')}));
      await worker.received(2);
      worker.answer(`{"s":200,"c":${c}}`, 'text', FrameFlag.cacheable);
      await until('the end of the link', () => malformed.length > 0);
      expect([text('a'), space.bytes]).toEqual([null, 0]);
    },
  );

  test('that answered calls: the worker has the report before the next request, and before the link ends', async () => {
    const worker = await newWorker();
    await call(worker, 'a', '{"s":200,"c":[7,"query m:f"]}');
    tenant.link!.answered.add('query m:f', 'first');
    tenant.link!.answered.add('query m:"g"', 'second');
    const frames = worker.frames.length;
    await call(worker, 'b', '{"s":200}');
    tenant.link!.answered.add('query m:f', 'third');
    tenant.release();
    await worker.received(frames + 3);
    const sent = worker.frames.slice(frames);
    expect(sent.map(({kind}) => kind)).toEqual([FrameKind.answered, FrameKind.request, FrameKind.answered]);
    const reported = (at: number) => (JSON.parse(String(sent[at]!.body)) as unknown[][]).map(([, ...named]) => named);
    expect(reported(0)).toEqual([
      ['query m:f', 'first'],
      ['query m:"g"', 'second'],
    ]);
    expect(reported(2)).toEqual([['query m:f', 'third']]);
  });
});
