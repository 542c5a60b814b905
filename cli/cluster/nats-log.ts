/** Connects a verb to the log of a cluster, with the files of a host. This module loads the client of NATS. */
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects} from '../../cluster/log/subjects.ts';
import {readCredentials} from '../../cluster/nats/credentials.ts';
import {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import {NatsRefusal} from '../../cluster/nats/nats-refusal.ts';
import {CommandFailure} from '../failure.ts';
import {hostFiles} from './host-files.ts';

export type LogAccess = {servers: string[]; cluster: string; files: string; isPlain: boolean};
export type ConnectedLog = {log: ReplicatedLog; close(): Promise<void>};

/** @throws CommandFailure */
export async function connectToLog({servers, cluster, files, isPlain}: LogAccess): Promise<ConnectedLog> {
  const {ca, certificate, key, seed} = hostFiles(files, isPlain).nats;
  try {
    const credentials = readCredentials(
      ca === null || certificate === null || key === null || seed === null ? {} : {ca, certificate, key, seed},
    );
    const engine = await NatsEngine.connect(new Subjects(cluster), {servers, name: 'svc cluster', credentials});
    return {log: new ReplicatedLog(engine, cluster), close: () => engine.close()};
  } catch (cause) {
    const reason = cause instanceof NatsRefusal ? cause.message : `no NATS server answers: ${(cause as Error).message}`;
    throw new CommandFailure(reason, 1, {cause});
  }
}
