/** Servers that come back with older stores, as from a snapshot of their disks. */
import {expect, test} from 'vitest';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {TenantLog} from '../../cluster/log/tenant-log.ts';
import {until} from '../harness/until.ts';
import {committed} from './harness/conformance.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {type NatsServer, NatsServers} from './harness/nats-servers.ts';
import {allOf, CLUSTER, commit, newTenant, opened, openOptions} from './harness/rig.ts';

const RECORDS = 10;

async function more(log: TenantLog, from: LogPosition): Promise<LogPosition> {
  let tail = from;
  for (let i = 0; i < RECORDS; i++) tail = await committed(log.append(tail, commit(tail.epoch, `after ${tail.n}`)));
  return tail;
}

/** Once the servers answer. */
function answered<T>(request: () => Promise<T>): Promise<T> {
  return until('an answer', async () => {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return null;
    }
  });
}

/** What a file at the position finds, and how many records there are. */
async function found(log: TenantLog, file: LogPosition) {
  const code = await answered(async () => {
    try {
      await allOf(log, file);
      return 'whole';
    } catch (error) {
      if (error instanceof LogError) return error.code;
      throw error;
    }
  });
  return {code, records: await answered(async () => (await allOf(log)).length)};
}

/** @param count of the servers whose stores are older. @param isLate the others start once these have a leader */
async function rolledBack(count: number, {isLate = false} = {}) {
  const servers = await NatsServers.start();
  try {
    await natsRig(servers);
    const older = servers.servers.slice(0, count);
    const newer = servers.servers.slice(count);
    const stop = () => Promise.all(servers.servers.map(server => server.kill()));
    const start = (some: readonly NatsServer[]) => Promise.all(some.map(server => server.start()));
    const {engine} = await servers.host();
    const log = new ReplicatedLog(engine, CLUSTER).tenant(newTenant());
    const saved = await more(log, await opened(log, 1));
    await stop();
    servers.saveStores();
    await start(servers.servers);
    const tail = await answered(() => more(log, saved));
    await stop();
    servers.rollBack(older);
    await start(isLate ? older : servers.servers);
    if (isLate) {
      await servers.leaderOf(LOG, older);
      await start(newer);
    }
    const atFirst = await found(log, tail);
    // A host without the file opens the log, and goes on from what it found.
    const epoch2 = await answered(() => opened(log, 2));
    await more(log, epoch2);
    const later = await answered(() =>
      log.open(openOptions(3, tail)).then(
        ({kind}) => kind as string,
        error => {
          if (error instanceof LogError) return error.code;
          throw error;
        },
      ),
    );
    return {atFirst, later};
  } finally {
    await servers.stop();
  }
}

const WHOLE = {atFirst: {code: 'whole', records: 1 + 2 * RECORDS}, later: 'opened'};
/** The file of an owner shows the loss; what it has is appended again or set aside, but never taken for the log. */
const LOST = {atFirst: {code: 'behind', records: 1 + RECORDS}, later: 'diverged'};

test('one older store of three loses nothing', async () => {
  expect(await rolledBack(1)).toEqual(WHOLE);
}, 120_000);

test('two older stores outvote the third one, or follow it; a file that is ahead shows it', async () => {
  expect([WHOLE, LOST]).toContainEqual(await rolledBack(2));
}, 120_000);

test('two older stores that start first have lost the tail; a file that is ahead shows it', async () => {
  expect(await rolledBack(2, {isLate: true})).toEqual(LOST);
}, 120_000);

test('three older stores have lost the tail; a file that is ahead shows it', async () => {
  expect(await rolledBack(3)).toEqual(LOST);
}, 120_000);
