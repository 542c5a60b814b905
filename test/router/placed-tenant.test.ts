import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {
  IN_FLIGHT_BYTES_MAX,
  READ_AGAIN_MS_MAX,
  WAITING_BYTES_MAX,
  WAITING_REQUESTS_MAX,
  WAKE_TIMEOUT_MS,
} from '../../router/limits.ts';
import {limitsOfOne, reservedTotal} from '../../router/router-limits.ts';
import {PlacedTenant} from '../../router/tenants/placed-tenant.ts';
import {CacheSpace} from '../../router/workers/cache-space.ts';
import {ServiceError} from '../../shared/errors.ts';
import {FrameFlag, FrameKind} from '../../shared/ipc/frame.ts';
import {createLogger} from '../../shared/log.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {Quarantine} from '../../shared/quarantine.ts';
import {until} from '../harness/until.ts';
import {RecordedRequest, ScriptedWorker} from './scripted-worker.ts';

const MIB = 1024 * 1024;
const log = createLogger({}, {write: () => undefined});
const died = new ServiceError('session.worker_unavailable', 'its worker died');

/** What the tenant asked of the supervisor; made anew for each test, because a lost link may ask after its test. */
let asked: {wakes: number; forCode: number; givenUp: number; next: PromiseWithResolvers<void>};
/** Sockets of workers whose deaths were held against calls. */
let reserved: string[];
let refused: number;
/** Why links were closed for what came over them. */
let malformed: string[];
const moves = new ServiceError('session.worker_unavailable', 'the tenant moves');
let tenant: PlacedTenant;
let workers: ScriptedWorker[];

beforeEach(() => {
  const mine = {wakes: 0, forCode: 0, givenUp: 0, next: Promise.withResolvers<void>()};
  asked = mine;
  workers = [];
  reserved = [];
  malformed = [];
  const quarantine = new Quarantine();
  refused = 0;
  tenant = new PlacedTenant('acme', {
    log,
    hub: () => expect.unreachable('these tests open no sockets'),
    metrics: new RouterMetrics(),
    bytes: reservedTotal(limitsOfOne(1)),
    cache: new CacheSpace(MIB),
    limits: limitsOfOne(1),
    hasPeers: false,
    dial: () => expect.unreachable('these tests know of no other host'),
    wake: forCode => {
      mine.wakes++;
      if (forCode) mine.forCode++;
      mine.next.resolve();
      mine.next = Promise.withResolvers();
    },
    lost: (worker, calls) => {
      if (calls.length === 0) return;
      if (quarantine.died(calls, performance.now()).isAttributed) reserved.push(worker);
      tenant.suspect(quarantine.suspects(performance.now()));
    },
    onTraffic: () => undefined,
    malformed: (_, why) => void malformed.push(why),
    givenUp: () => void mine.givenUp++,
    answered: key => quarantine.answered(key),
    onRefused: () => {
      refused++;
    },
  });
});

afterEach(() => {
  for (const worker of workers) worker.die();
});

async function newWorker(runsCode = true): Promise<ScriptedWorker> {
  const worker = new ScriptedWorker('acme', runsCode);
  workers.push(worker);
  await worker.listen();
  return worker;
}

/** Does this, and waits until the tenant has requested a worker for it. */
async function wakenBy(act: () => void): Promise<void> {
  const woken = asked.next.promise;
  act();
  await woken;
}

/** A worker of the tenant, once it has received so many frames. */
async function ready(frames: number): Promise<ScriptedWorker> {
  const worker = await newWorker();
  tenant.workerReady(worker.address);
  await worker.received(frames);
  return worker;
}

/** The next worker receives this request, and answers it. */
async function answeredByNext(request: RecordedRequest): Promise<void> {
  const next = await ready(2);
  next.answer('', 'ok');
  expect(await request.outcome).toBe('200 ok');
}

/** A tenant with a worker that has received this request. */
async function underWay(request: RecordedRequest): Promise<ScriptedWorker> {
  const worker = await newWorker();
  tenant.workerReady(worker.address);
  tenant.forward(request);
  await worker.received(2);
  return worker;
}

describe('requests of a sleeping tenant', () => {
  test('wake it once, and are sent when its worker is ready', async () => {
    const [first, second] = [new RecordedRequest(true), new RecordedRequest(false, 'body')];
    tenant.forward(first);
    tenant.forward(second);
    expect(asked.wakes).toBe(1);
    const worker = await ready(3);
    expect(worker.frames.map(frame => frame.kind)).toEqual([FrameKind.hello, FrameKind.request, FrameKind.request]);
    expect(worker.frames[2]!.body).toBe('body');
    worker.answer('{"s":201}', 'done');
    expect(await second.outcome).toBe('201 done');
  });

  test('fail with what the supervisor says when there is no worker to be had', async () => {
    const request = new RecordedRequest(true);
    tenant.forward(request);
    tenant.workerFailed(died, 30);
    expect(await request.outcome).toBe('session.worker_unavailable/30');
  });

  test('are session.overloaded beyond the limit on their number', () => {
    for (let i = 0; i < WAITING_REQUESTS_MAX; i++) tenant.forward(new RecordedRequest(true));
    const overloaded = expect.objectContaining({code: 'session.overloaded'});
    expect(() => tenant.forward(new RecordedRequest(true))).toThrowError(overloaded);
  });

  test('are session.overloaded beyond the limit on their bytes; one whose client goes makes room', () => {
    const half = 'x'.repeat(WAITING_BYTES_MAX / 2);
    const leaving = new RecordedRequest(false, half);
    tenant.forward(leaving);
    tenant.forward(new RecordedRequest(false, half));
    expect(() => tenant.forward(new RecordedRequest(false, 'x'))).toThrowError(
      expect.objectContaining({code: 'session.overloaded'}),
    );
    leaving.abort();
    expect(() => tenant.forward(new RecordedRequest(false, 'x'))).not.toThrow();
  });

  test('fail once they have waited too long', async () => {
    const request = new RecordedRequest(true);
    tenant.forward(request);
    tenant.expire(request.waitingSinceMs + WAKE_TIMEOUT_MS - 1);
    expect(tenant.waiting).toBe(1);
    // A sum of fractions may come out a little short.
    tenant.expire(request.waitingSinceMs + WAKE_TIMEOUT_MS + 1);
    expect(await request.outcome).toBe('session.worker_unavailable');
    expect(tenant.isBusy).toBe(false);
  });

  test('are tried again when the worker they were promised cannot be reached', async () => {
    const gone = await newWorker();
    gone.die();
    const write = new RecordedRequest(false);
    tenant.forward(write);
    await wakenBy(() => tenant.workerReady(gone.address));
    await answeredByNext(write);
  });
});

describe('requests under way when the worker dies', () => {
  test.each([
    ['the socket closes first', ['close', 'notice']],
    ['the supervisor speaks first', ['notice', 'close']],
  ])('a read is sent once more to the next worker: %s', async (_title, order) => {
    const read = new RecordedRequest(true);
    const worker = await underWay(read);
    const woken = asked.next.promise;
    if (order[0] === 'notice') tenant.workerFailed(died, 1);
    worker.die();
    await woken;
    if (order[0] === 'close') tenant.workerFailed(died, 1);
    await answeredByNext(read);
  });

  test('a read fails when a second worker dies under it', async () => {
    const read = new RecordedRequest(true);
    const worker = await underWay(read);
    await wakenBy(() => worker.die());
    const next = await ready(2);
    next.die();
    expect(await read.outcome).toBe('session.worker_unavailable');
  });

  test('a dying worker that takes one more connection and loses it too has died once', async () => {
    const read = new RecordedRequest(true);
    const worker = await underWay(read);
    for (let connections = 1; connections <= 3; connections++) {
      await wakenBy(() => worker.sendGarbage());
      tenant.workerReady(worker.address);
      await worker.received(2 * (connections + 1));
    }
    worker.die();
    await asked.next.promise;
    await answeredByNext(read);
  });

  test('a write is session.outcome_unknown and is not sent again', async () => {
    const write = new RecordedRequest(false);
    const worker = await underWay(write);
    worker.die();
    expect(await write.outcome).toBe('session.outcome_unknown');
    expect(asked.wakes).toBe(0);
  });

  test('a write that its connection could not take any more goes to the next worker, with its body', async () => {
    await underWay(new RecordedRequest(true));
    const write = new RecordedRequest(false, 'body');
    tenant.forward(write);
    tenant.workerFailed(died, 0); // before the frames of this turn have left
    const next = await ready(3);
    expect(next.frames.at(-1)).toMatchObject({kind: FrameKind.request, body: 'body'});
    next.answer('{"s":201}', 'inserted');
    expect(await write.outcome).toBe('201 inserted');
  });

  test('a streamed reply is cut', async () => {
    const read = new RecordedRequest(true);
    const worker = await underWay(read);
    const stream = worker.frames[1]!.stream;
    worker.send(FrameKind.response, stream, FrameFlag.streams, '', '');
    worker.send(FrameKind.chunk, stream, FrameFlag.none, '', 'piece');
    worker.sendGarbage();
    expect(await read.outcome).toBe('cut');
    expect(read.chunks).toEqual(['200', 'piece']);
  });
});

describe('calls of functions under way when the worker dies', () => {
  const bomb = {name: 'search:find', key: 'bomb'};
  const call = (of = bomb, isRead = true) => new RecordedRequest(isRead, '', null, {call: of});
  const quarantined = expect.objectContaining({code: 'op.quarantined'});

  test('a query is not sent again, and its death is not held against the tenant', async () => {
    const query = call();
    const worker = await underWay(query);
    worker.die();
    expect(await query.outcome).toBe('session.worker_unavailable');
    expect(reserved).toEqual([worker.address.worker]);
    expect(asked.wakes).toBe(0);
  });

  test('a mutation is session.outcome_unknown', async () => {
    const mutation = call(bomb, false);
    const worker = await underWay(mutation);
    worker.die();
    expect(await mutation.outcome).toBe('session.outcome_unknown');
    expect(reserved).toEqual([worker.address.worker]);
  });

  test('one whose client has gone is held responsible all the same', async () => {
    for (let crashes = 0; crashes < 2; crashes++) {
      const query = call();
      const worker = await underWay(query);
      query.abort();
      const other = new RecordedRequest(true, '', null, {isScan: true});
      tenant.forward(other);
      await worker.received(3);
      worker.die();
      await asked.next.promise; // the other one goes on to the next worker
      tenant.remove(false);
      await other.outcome;
      tenant.removed = null;
    }
    expect(() => tenant.forward(call())).toThrowError(quarantined);
  });

  test('the second death refuses the same call; the function with other arguments, and all else, goes on', async () => {
    for (let crashes = 0; crashes < 2; crashes++) {
      const query = call();
      (await underWay(query)).die();
      await query.outcome;
    }
    expect(() => tenant.forward(call())).toThrowError(quarantined);
    expect(() => tenant.forward(call(bomb, false))).toThrowError(quarantined);
    expect(refused).toBe(2);
    const [harmless, read] = [call({...bomb, key: 'harmless'}), new RecordedRequest(true)];
    const worker = await underWay(harmless);
    worker.answer('', 'ok');
    expect(await harmless.outcome).toBe('200 ok');
    tenant.forward(read);
    await worker.received(3);
    worker.answer('', 'ok');
    expect(await read.outcome).toBe('200 ok');
  });

  test('one that is answered in between is innocent', async () => {
    const once = call();
    (await underWay(once)).die();
    await once.outcome;
    const answered = call();
    const worker = await underWay(answered);
    worker.answer('', 'ok');
    await answered.outcome;
    const again = call();
    tenant.forward(again);
    await worker.received(3);
    worker.die();
    await again.outcome;
    expect(() => tenant.forward(call())).not.toThrow();
  });

  test('one that never reached the worker goes to the next', async () => {
    const gone = await newWorker();
    gone.die();
    const query = call();
    tenant.forward(query);
    await wakenBy(() => tenant.workerReady(gone.address));
    await answeredByNext(query);
    expect(reserved).toEqual([]);
  });
});

describe('a scan under way when the worker dies', () => {
  test('goes to the next worker when it had just begun', async () => {
    const scan = new RecordedRequest(true, '', null, {isScan: true});
    const worker = await underWay(scan);
    await wakenBy(() => worker.die());
    await answeredByNext(scan);
  });

  test('is not sent again when it had run for so long that it may be the reason', async () => {
    const scan = new RecordedRequest(true, '', null, {isScan: true});
    const worker = await underWay(scan);
    scan.sentMs -= READ_AGAIN_MS_MAX;
    worker.die();
    expect(await scan.outcome).toBe('session.worker_unavailable');
    expect(reserved).toEqual([]);
  });
});

describe('bytes under way', () => {
  test('are bounded for one worker until it answers, also when clients go', async () => {
    const body = 'x'.repeat(IN_FLIGHT_BYTES_MAX / 16);
    const overloaded = expect.objectContaining({code: 'session.overloaded'});
    const first = new RecordedRequest(false, body);
    const worker = await underWay(first);
    for (let sent = 1; sent < 16; sent++) {
      const write = new RecordedRequest(false, body);
      tenant.forward(write);
      await worker.received(sent + 2);
      write.abort();
    }
    expect(() => tenant.forward(new RecordedRequest(false, 'x'))).toThrowError(overloaded);
    expect(() => tenant.forward(new RecordedRequest(true))).not.toThrow();
    worker.send(FrameKind.response, worker.frames[1]!.stream, FrameFlag.none, '', 'ok');
    await first.outcome;
    expect(() => tenant.forward(new RecordedRequest(false, body))).not.toThrow();
  });

  test('a body is let go once the worker has it, and not while it may have to go to another one', async () => {
    const write = new RecordedRequest(false, 'body');
    tenant.forward(write);
    expect(write.isSent).toBe(false);
    await ready(2);
    expect(write.isSent).toBe(true);
  });
});

describe('release', () => {
  test('is refused while a request is under way', async () => {
    await underWay(new RecordedRequest(true));
    expect(tenant.release()).toBe(true);
  });

  test('gives the worker up; the next request wakes the tenant again', async () => {
    const read = new RecordedRequest(true);
    const worker = await underWay(read);
    worker.answer('', 'ok');
    await read.outcome;
    expect(tenant.release()).toBe(false);
    tenant.forward(new RecordedRequest(true));
    expect(asked.wakes).toBe(1);
  });
});

test.each([
  {returns: false, code: 'session.tenant_not_found'},
  {returns: true, code: 'session.worker_unavailable'},
])('a removed tenant lets go of what waits, and is $code afterwards', async ({returns, code}) => {
  const waiting = new RecordedRequest(true);
  tenant.forward(waiting);
  tenant.remove(returns);
  expect(await waiting.outcome).toBe(code);
  expect(() => tenant.forward(new RecordedRequest(true))).toThrowError(expect.objectContaining({code}));
});

test('a streamed reply whose client goes is cancelled at the worker', async () => {
  const read = new RecordedRequest(true);
  const worker = await underWay(read);
  const stream = worker.frames[1]!.stream;
  worker.send(FrameKind.response, stream, FrameFlag.streams, '', '');
  worker.send(FrameKind.chunk, stream, FrameFlag.none, '', 'piece');
  const other = new RecordedRequest(true);
  tenant.forward(other);
  await worker.received(3);
  worker.answer('', 'ok');
  await other.outcome; // everything sent before has arrived as well
  read.abort();
  await worker.received(4);
  expect(worker.frames[3]).toMatchObject({kind: FrameKind.cancel, stream});
  expect(tenant.isBusy).toBe(false);
});

describe('a request that brings code, while the worker runs none,', () => {
  test('waits for one that does; everything before is answered by the old worker, and everything after by the new', async () => {
    const old = await newWorker(false);
    tenant.workerReady(old.address);
    const before = new RecordedRequest(true);
    const follows = new RecordedRequest(true, '', null, {isEndless: true});
    tenant.forward(before);
    tenant.forward(follows);
    await old.received(3);
    old.send(FrameKind.response, 2, FrameFlag.streams, '', '');
    await until('the stream to have begun', () => follows.chunks.length === 1);

    const deploy = new RecordedRequest(false, 'bundle', null, {bringsCode: true});
    tenant.forward(deploy);
    expect(asked).toMatchObject({wakes: 1, forCode: 1});
    const meanwhile = new RecordedRequest(false, 'meanwhile');
    tenant.forward(meanwhile);
    await old.received(4);
    expect(old.frames.at(-1)!.body).toBe('meanwhile');

    tenant.giveUp(moves);
    expect(asked.givenUp).toBe(0);
    expect(await follows.outcome).toBe('cut');
    const after = new RecordedRequest(false, 'after');
    tenant.forward(after);
    old.send(FrameKind.response, 1, FrameFlag.none, '', 'first');
    old.answer('', 'second');
    expect(await before.outcome).toBe('200 first');
    expect(await meanwhile.outcome).toBe('200 second');
    await until('the supervisor to know', () => asked.givenUp === 1);

    const next = await ready(3);
    expect(next.frames.slice(1).map(frame => frame.body)).toEqual(['bundle', 'after']);
    next.send(FrameKind.response, 1, FrameFlag.none, '', 'deployed');
    next.answer('', 'third');
    expect(await deploy.outcome).toBe('200 deployed');
    expect(await after.outcome).toBe('200 third');
  });

  test('moves the tenant no more once its client is gone', () => {
    tenant.forward(new RecordedRequest(true));
    const deploy = new RecordedRequest(false, 'bundle', null, {bringsCode: true});
    tenant.forward(deploy);
    deploy.abort();
    tenant.giveUp(moves);
    expect(asked).toMatchObject({wakes: 3, forCode: 1});
    tenant.forward(new RecordedRequest(false, 'bundle', null, {bringsCode: true}));
    expect(asked).toMatchObject({wakes: 4, forCode: 2});
  });

  test('asks again when the next worker runs none either', async () => {
    const deploy = new RecordedRequest(false, 'bundle', null, {bringsCode: true});
    tenant.forward(new RecordedRequest(true));
    tenant.forward(deploy);
    expect(asked).toMatchObject({wakes: 2, forCode: 1});
    const old = await newWorker(false);
    tenant.workerReady(old.address);
    expect(asked).toMatchObject({wakes: 3, forCode: 2});
    tenant.giveUp(moves);
    const next = await ready(2);
    expect(next.frames.at(-1)!.body).toBe('bundle');
  });

  test('is asked for again when the worker dies before the move and no other can be had', async () => {
    const old = await newWorker(false);
    tenant.workerReady(old.address);
    const under = new RecordedRequest(false, 'write');
    tenant.forward(under);
    await old.received(2);
    const deploy = new RecordedRequest(false, 'bundle', null, {bringsCode: true});
    tenant.forward(deploy);
    const {wakes} = asked;
    tenant.workerFailed(died, 1);
    expect(asked.wakes).toBeGreaterThan(wakes);
    expect(await under.outcome).toContain('session.outcome_unknown');
    const next = await ready(2);
    expect(next.frames.at(-1)!.body).toBe('bundle');
  });
});
