/** Connects a verb to the log of a cluster, with the files of a host. This module loads the client of NATS. */
import {FREE_SPACE_POLL_MS} from '../../cluster/limits.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects} from '../../cluster/log/subjects.ts';
import {type Credentials, readCredentials} from '../../cluster/nats/credentials.ts';
import {MonitorPages} from '../../cluster/nats/monitor-pages.ts';
import {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import {NatsRefusal} from '../../cluster/nats/nats-refusal.ts';
import {ServerSpace} from '../../cluster/nats/server-space.ts';
import {SpacedEngine} from '../../cluster/nats/spaced-engine.ts';
import {startOnNats} from '../../cluster/nats/start-check.ts';
import {CommandFailure} from '../failure.ts';
import {hostFiles} from './host-files.ts';
import type {LogAccess} from './log-options.ts';

export type ConnectedLog = {log: ReplicatedLog; hosts: Pick<NatsEngine, 'askHost'>; close(): Promise<void>};

/** Of a cluster that is there. @throws CommandFailure */
export async function connectToLog(access: LogAccess): Promise<ConnectedLog> {
  const {servers, cluster} = access;
  return await connected(access, credentials =>
    NatsEngine.connect(new Subjects(cluster), {
      ...{name: 'svc cluster', credentials},
      servers: servers.map(({server}) => server),
    }),
  );
}

/** As the start of a host: NATS is checked, and the streams are made if it is the first one. @throws CommandFailure */
export async function startLog(access: LogAccess): Promise<ConnectedLog> {
  const {servers, cluster, allowSingleLog} = access;
  return await connected(
    access,
    async credentials =>
      (await startOnNats({cluster, name: 'svc cluster', servers, credentials, allowSingleLog})).engine,
  );
}

function credentialsOf({files, isPlain}: LogAccess): Credentials {
  const {ca, certificate, key, seed} = hostFiles(files, isPlain).nats;
  const isWithout = ca === null || certificate === null || key === null || seed === null;
  return readCredentials(isWithout ? {} : {ca, certificate, key, seed});
}

async function connected(
  access: LogAccess,
  connect: (credentials: Credentials) => Promise<NatsEngine>,
): Promise<ConnectedLog> {
  try {
    const credentials = credentialsOf(access);
    const engine = await connect(credentials);
    const pages = new MonitorPages(
      access.servers.map(({monitor}) => monitor),
      credentials.tls?.ca,
    );
    const space = new ServerSpace(pages);
    await space.read();
    const reading = setInterval(() => void space.read(), FREE_SPACE_POLL_MS);
    const close = async () => {
      clearInterval(reading);
      await Promise.all([engine.close(), pages.close()]);
    };
    return {log: new ReplicatedLog(new SpacedEngine(engine, space), access.cluster), hosts: engine, close};
  } catch (cause) {
    const reason = cause instanceof NatsRefusal ? cause.message : `no NATS server answers: ${(cause as Error).message}`;
    throw new CommandFailure(reason, 1, {cause});
  }
}
