/** A worker at the endpoint of its tenant's log: what it can do, and what ends its connection. */
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate as turn} from 'node:timers/promises';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {type EndpointAddress, EndpointClient} from '../../cluster/endpoint/endpoint-client.ts';
import {ENDPOINT_VERSION} from '../../cluster/endpoint/endpoint-message.ts';
import {LogEndpoint, type LogEndpointParts} from '../../cluster/endpoint/log-endpoint.ts';
import type {LogRequest} from '../../cluster/endpoint/log-request.ts';
import {LogShare} from '../../cluster/endpoint/log-share.ts';
import {RemoteEngine} from '../../cluster/endpoint/remote-engine.ts';
import {toWire} from '../../cluster/endpoint/wire-position.ts';
import {HostPackages} from '../../cluster/host/host-packages.ts';
import {
  ENDPOINT_MESSAGES_BYTES,
  ENDPOINT_UNREAD_BYTES_MAX,
  LOG_SHARE_BYTES,
  PART_BYTES,
  PARTS_MAX,
} from '../../cluster/limits.ts';
import {EngineError, type Subject} from '../../cluster/log/log-engine.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {OpenOutcome} from '../../cluster/log/tenant-log.ts';
import {REAL_TIMING, type Timing} from '../../cluster/log/timing.ts';
import {FrameFlag, FrameKind, FrameWriter} from '../../shared/ipc/frame.ts';
import {MemoryEngine, MemoryStreams} from './harness/memory-engine.ts';
import {CLUSTER, commit, newTenant, note, opened, SUBJECTS} from './harness/rig.ts';

const EPOCH = 3;
const NOTE = 'a.1';
const tenant = newTenant();
let directory: string;
let endpoint: LogEndpoint;
let free: number | null;
let share: LogShare;
let engine: MemoryEngine;
let outcomes: OpenOutcome[];
let closed: PromiseWithResolvers<string>;
let client: EndpointClient;
let replicated: ReplicatedLog;
let worker: ReplicatedLog;

function partsOf(key: EndpointAddress, of: MemoryEngine): LogEndpointParts {
  return {
    ...{...key, tenant, epoch: EPOCH, note: NOTE, engine: of, subjects: SUBJECTS, share},
    ownerEnds: () => new Promise<void>(() => undefined),
    packages: new HostPackages({
      packages: replicated.packages,
      pathOf: () => join(directory, 'tenant.sqlite'),
      freeBytes: () => free,
      report: () => {},
    }).of(tenant, EPOCH),
    beforeOpen: async () => undefined,
    onBehind: () => undefined,
    onAnswered: () => undefined,
    onOpened: outcome => outcomes.push(outcome),
    onClosed: closed.resolve,
  };
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-endpoint-'));
  engine = new MemoryEngine(new MemoryStreams(), REAL_TIMING);
  replicated = new ReplicatedLog(engine, CLUSTER);
  free = null;
  share = new LogShare(() => free);
  [outcomes, closed] = [[], Promise.withResolvers()];
  const key = {socketPath: join(directory, 's'), secret: 'secret'};
  endpoint = new LogEndpoint(partsOf(key, engine));
  client = await EndpointClient.connect(key, {lease: () => undefined, closed: () => undefined});
  worker = new ReplicatedLog(new RemoteEngine(client), CLUSTER);
});
afterEach(async () => {
  client.close();
  await endpoint.end();
  rmSync(directory, {recursive: true});
});

const open = (by = NOTE) => worker.tenant(tenant).append(null, note('open', EPOCH, by));

test('a worker opens the log, appends, reads, and says that it did', async () => {
  const outcome = await open();
  if (outcome.kind !== 'committed') throw new Error(outcome.kind);
  await client.ask('done', {does: 'opened', position: toWire(outcome.position)});
  expect(outcomes).toEqual([{kind: 'opened', position: outcome.position}]);
  expect(await worker.tenant(tenant).append(outcome.position, commit(EPOCH, 'x'))).toMatchObject({kind: 'committed'});
  expect(endpoint.tail).toMatchObject({kind: 'commit', n: 2});
  expect(await replicated.tenant(tenant).tail()).toMatchObject({kind: 'commit', n: 2, epoch: EPOCH});
});

const POSITION = {kind: 'open', epoch: EPOCH, n: Number.MAX_SAFE_INTEGER, sequence: 1, digest: '0'.repeat(64)} as const;

test.each<[string, () => Promise<unknown>, string]>([
  ['opens the log in the name of another host', () => open('b.7'), 'opens the log for another owner'],
  ['opened what it has not opened', () => ask({does: 'opened', position: POSITION}), 'opened nothing'],
  ['was superseded by an epoch that its log lacks', () => ask({does: 'superseded', epoch: 9}), 'no such epoch'],
  [
    'awaits two owners at once',
    () => Promise.all([1, 2].map(() => ask({does: 'await_owner', openedBy: null, tail: POSITION}))),
    'awaits two owners',
  ],
  ['reads the log of another tenant', () => worker.tenant(newTenant()).tail(), 'reads another subject'],
  [
    'appends in an epoch that it was not granted',
    () => worker.tenant(tenant).append(null, note('open', EPOCH + 1, NOTE)),
    'no record of its epoch',
  ],
])('a worker that %s loses its connection', async (_, act, why) => {
  await opened(replicated.tenant(tenant), 1);
  void act().catch(error => expect(error).toBeInstanceOf(EngineError));
  expect(await closed.promise).toContain(why);
  expect(outcomes).toEqual([]);
});

const MIB = 1024 * 1024;

/** Of one tenant, in its stream. */
async function bytesIn(subject: Subject): Promise<number> {
  const newest = await engine.last(subject);
  if (newest === null) return 0;
  let bytes = 0;
  for await (const message of engine.messages(subject, {from: 1, to: newest.sequence})) bytes += message.bytes.length;
  return bytes;
}

test('a worker whose tenant has more of the log than is free gets no more than it can have committed by then', async () => {
  const log = worker.tenant(tenant);
  const opened = await open();
  if (opened.kind !== 'committed') throw new Error(opened.kind);
  free = 100 * MIB;
  share.storedRecord(opened.position.sequence, 101 * MIB, []);
  expect(share.freeBytes).toBe(0);
  let tail = opened.position;
  for (;;) {
    const appended = await log.append(tail, commit(EPOCH, 'x', PART_BYTES - 1_000));
    if (appended.kind === 'full') break;
    if (appended.kind !== 'committed') throw new Error(appended.kind);
    tail = appended.position;
  }
  expect(await bytesIn(SUBJECTS.log(tenant))).toBeLessThan(LOG_SHARE_BYTES + MIB);
  expect(await worker.tenant(tenant).append(tail, commit(EPOCH, 'large', 2 * PART_BYTES))).toEqual({kind: 'full'});
  expect(await bytesIn(SUBJECTS.parts(tenant))).toBe(0);
  // Its older base has all of it.
  share.trimmed(tail.sequence + 1);
  expect(await log.append(tail, commit(EPOCH, 'x'))).toMatchObject({kind: 'committed'});
});

test('parts that no record names are no more than one record can have', async () => {
  const parts = SUBJECTS.parts(tenant);
  const remote = new RemoteEngine(client);
  const answers = new Map<string, number>();
  const send = async () => {
    const {kind} = await remote.publish(parts, Buffer.from('part'), null);
    answers.set(kind, (answers.get(kind) ?? 0) + 1);
  };
  for (let n = 0; n < PARTS_MAX + 100; n += 50) await Promise.all(Array.from({length: 50}, send));
  expect(answers.get('stored')).toBeLessThan(PARTS_MAX + 50);
  expect(answers.get('full')).toBeGreaterThan(0);
});

test('parts that a record names make way for the next ones', async () => {
  const log = worker.tenant(tenant);
  const opened = await open();
  if (opened.kind !== 'committed') throw new Error(opened.kind);
  for (let n = 0; n < PARTS_MAX - 2; n++) share.storedPart(1_000_000 + n, 1);
  const large = await log.append(opened.position, commit(EPOCH, 'large', 2 * PART_BYTES));
  if (large.kind !== 'committed') throw new Error(large.kind);
  expect(await log.append(large.position, commit(EPOCH, 'large', 2 * PART_BYTES))).toMatchObject({kind: 'committed'});
});

function ask(request: LogRequest): Promise<unknown> {
  return client.ask('done', request);
}

/** Without time, so that what can go on does so in the next turns. */
const TURNS: Timing = {
  after: (_, fire) => {
    const next = setImmediate(fire);
    return () => clearImmediate(next);
  },
};
const REQUESTS = 32;

test('a worker that reads no answers costs the memory of a few, however many it requests', async () => {
  const quick = new MemoryEngine(new MemoryStreams(), TURNS);
  const subject = SUBJECTS.parts(tenant);
  for (let bytes = 0; bytes < ENDPOINT_MESSAGES_BYTES; bytes += PART_BYTES)
    await quick.publish(subject, Buffer.alloc(PART_BYTES), null);
  let reads = 0;
  const messages = quick.messages.bind(quick);
  quick.messages = (...of) => {
    reads++;
    return messages(...of);
  };
  const key = {socketPath: join(directory, 'other'), secret: 'secret'};
  const other = new LogEndpoint(partsOf(key, quick));
  const socket = connect(key.socketPath);
  const writer = new FrameWriter(bytes => socket.write(bytes));
  writer.frame(FrameKind.hello, 0, FrameFlag.none, key.secret, String(ENDPOINT_VERSION));
  const request = JSON.stringify({does: 'messages', subject: subject.name, from: 1, to: 1_000} satisfies LogRequest);
  for (let i = 1; i <= REQUESTS; i++) writer.frame(FrameKind.request, i, FrameFlag.none, request, '');
  writer.flush();
  while (reads === 0) await turn();
  for (let left = 50 * REQUESTS; left > 0; left--) await turn();
  expect(reads * ENDPOINT_MESSAGES_BYTES).toBeLessThanOrEqual(2 * ENDPOINT_UNREAD_BYTES_MAX);
  let received = 0;
  socket.on('data', chunk => {
    received += chunk.length;
  });
  while (received < REQUESTS * ENDPOINT_MESSAGES_BYTES) await once(socket, 'data');
  expect(reads).toBe(REQUESTS);
  socket.destroy();
  await other.end();
});
