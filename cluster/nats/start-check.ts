/**
 * The check of NATS at the start of a host, which returns the engine, or refuses with one sentence. It needs a majority of
 * the servers, because a host has to start while one of them is down. Every server that can be reached is checked.
 */
import type {NatsConnection} from '@nats-io/transport-node';
import {
  APPEND_RETRY_MS_MAX,
  NATS_PAGE_ATTEMPTS,
  NATS_REQUEST_MS,
  NATS_STREAMS_AT_ONCE,
  NATS_STREAMS_MS,
  SHARDS,
} from '../limits.ts';
import {EngineError, type StreamName} from '../log/log-engine.ts';
import {ReplicatedLog} from '../log/replicated-log.ts';
import {isClusterName, Subjects} from '../log/subjects.ts';
import {delay, REAL_TIMING} from '../log/timing.ts';
import {connectionFault, connectOnce} from './connection.ts';
import {type Credentials, NO_CREDENTIALS} from './credentials.ts';
import {GONE, NatsEngine} from './nats-engine.ts';
import {NatsRefusal} from './nats-refusal.ts';
import {checkPermissions} from './permissions.ts';
import {countFault, serversFault, type Varz, varzOf} from './server-settings.ts';
import {REPLICAS_LEAST, streamNameOf} from './stream-settings.ts';

export type NatsServerAddress = {
  /** Such as `nats://10.0.0.1:4222`. */
  readonly server: string;
  /** Of its monitoring page, such as `http://10.0.0.1:8222`. */
  readonly monitor: string;
};

export type StartOptions = {
  readonly cluster: string;
  /** Of this host. */
  readonly name: string;
  readonly servers: readonly NatsServerAddress[];
  readonly credentials?: Credentials;
  readonly allowSingleLog?: boolean;
};

export type Started = {
  readonly engine: NatsEngine;
  /** One sentence for each server that cannot be reached; nothing else is wrong. */
  readonly warnings: readonly string[];
};

/** One of each kind. */
const STREAMS: readonly StreamName[] = [{kind: 'records'}, {kind: 'bases'}, {kind: 'log', shard: 0}];
/** All but that of the small records. */
const REST: readonly StreamName[] = [
  {kind: 'bases'},
  ...Array.from({length: SHARDS}, (_, shard) => ({kind: 'log', shard}) as const),
];

/** @throws NatsRefusal */
export async function startOnNats(options: StartOptions): Promise<Started> {
  const {cluster, name, servers, credentials = NO_CREDENTIALS, allowSingleLog = false} = options;
  if (!isClusterName(cluster)) {
    throw new NatsRefusal(
      `the name of a cluster has 1 to 32 lower-case letters, digits and hyphens, and ${JSON.stringify(cluster)} is none.`,
    );
  }
  const count = countFault(servers.length, allowSingleLog);
  if (count !== null) throw new NatsRefusal(count);

  const subjects = new Subjects(cluster);
  const warnings = await checkServers(servers, {subjects, name, credentials});
  const engine = await NatsEngine.connect(subjects, {servers: servers.map(({server}) => server), name, credentials});
  try {
    await prepareAll(engine, cluster, servers.length < REPLICAS_LEAST ? 1 : REPLICAS_LEAST);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return {engine, warnings};
}

type Checked = {subjects: Subjects; name: string; credentials: Credentials};
type Found = {readonly varz: Varz} | {readonly unreachable: string};

async function checkServers(addresses: readonly NatsServerAddress[], checked: Checked): Promise<string[]> {
  const found = await Promise.all(addresses.map(address => checkServer(address, checked)));
  const unreachable = found.flatMap(server => ('unreachable' in server ? [server.unreachable] : []));
  if (unreachable.length * 2 >= addresses.length) {
    const what = `${unreachable.length} of ${addresses.length} NATS servers cannot be reached`;
    throw new NatsRefusal(`${what}, and svc needs a majority of them: ${unreachable.join('; ')}.`);
  }
  const reached = found.flatMap(server => ('varz' in server ? [server.varz] : []));
  const fault = serversFault(reached);
  if (fault !== null) throw new NatsRefusal(fault);
  return unreachable.map(reason => `a NATS server cannot be reached, and has not been checked: ${reason}.`);
}

async function checkServer(
  {server, monitor}: NatsServerAddress,
  {subjects, name, credentials}: Checked,
): Promise<Found> {
  let connection: NatsConnection;
  try {
    connection = await connectOnce(server, {name, credentials});
  } catch (error) {
    const {isMistaken, reason} = connectionFault(error, credentials);
    if (isMistaken) throw new NatsRefusal(`the NATS server ${server} ${reason}.`);
    return {unreachable: `${server} (${reason})`};
  }
  try {
    const varz = await pageOf(monitor, connection, credentials);
    if (varz.server_id !== connection.info?.server_id) {
      throw new NatsRefusal(`the monitoring page ${monitor} is not that of the NATS server ${server}.`);
    }
    await checkPermissions(connection, subjects, STREAMS);
    return {varz};
  } catch (error) {
    // A server that is stopped still accepts connections.
    if (!(await answers(connection))) return {unreachable: `${server} (it does not answer)`};
    throw error;
  } finally {
    await connection.close();
  }
}

/** A server that answers can be too busy for its page. @throws NatsRefusal */
async function pageOf(monitor: string, connection: NatsConnection, {tls}: Credentials): Promise<Varz> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await varzOf(monitor, tls?.ca);
    } catch (error) {
      const isLate = ((error as Error).cause as Error | undefined)?.name === 'TimeoutError';
      if (!isLate || attempts === NATS_PAGE_ATTEMPTS || !(await answers(connection))) throw error;
    }
  }
}

async function answers(connection: NatsConnection): Promise<boolean> {
  const answered = connection.rtt().then(
    () => true,
    () => false,
  );
  return await Promise.race([answered, delay(REAL_TIMING, NATS_REQUEST_MS).then(() => false)]);
}

/** Records that the streams of the cluster were made. Without it, an earlier start was interrupted, or there was none. */
const MADE_KEY = 'cluster';
const MADE = Buffer.from(JSON.stringify({format: 1}));

/** A stream is made only for a new cluster. @throws NatsRefusal */
async function prepareAll(engine: NatsEngine, cluster: string, replicas: number): Promise<void> {
  const {records} = new ReplicatedLog(engine, cluster);
  await engine.prepare({kind: 'records'}, {replicas, isNew: true});
  const isNew = (await answered(() => records.get(MADE_KEY))) === null;
  await prepareRest(engine, {replicas, isNew});
  if (!isNew) return;
  for (const stream of REST) {
    if (stream.kind === 'log' && (await answered(() => engine.isUsed(stream)))) {
      throw new NatsRefusal(`the stream ${streamNameOf(new Subjects(cluster), {kind: 'records'})} ${GONE}`);
    }
  }
  const outcome = await records.set(MADE_KEY, MADE, 0);
  const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  // Another host was first if it is a conflict.
  if (kind === 'full') throw new NatsRefusal('the NATS servers have no space for the records of the cluster.');
}

/** While the servers elect their leaders, it is tried again. @throws NatsRefusal */
async function answered<T>(read: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + NATS_STREAMS_MS; ; await delay(REAL_TIMING, APPEND_RETRY_MS_MAX)) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (performance.now() > until) throw new NatsRefusal(`the NATS servers do not answer: ${error.message}.`);
    }
  }
}

/** `NATS_STREAMS_AT_ONCE` at the same time. The first that is refused ends it. */
async function prepareRest(engine: NatsEngine, how: {replicas: number; isNew: boolean}): Promise<void> {
  const left = [...REST];
  const end = new AbortController();
  const work = async () => {
    for (let stream = left.shift(); stream !== undefined && !end.signal.aborted; stream = left.shift()) {
      await engine.prepare(stream, {...how, signal: end.signal});
    }
  };
  try {
    await Promise.all(Array.from({length: NATS_STREAMS_AT_ONCE}, work));
  } finally {
    end.abort();
  }
}
