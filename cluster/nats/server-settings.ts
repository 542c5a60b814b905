/** What svc requires of NATS servers, as their monitoring page `/varz` reports it. */
import {MESSAGE_BYTES_LEAST} from '../limits.ts';
import {MonitorPages} from './monitor-pages.ts';
import {NatsRefusal} from './nats-refusal.ts';
import {REPLICAS_LEAST} from './stream-settings.ts';

/** From here on `sync_interval: always` covers the log of the replicas; 2.10.20 to 2.10.22 can lose a stream. */
const VERSION_LEAST = '2.10.23';

/** The part of `/varz` that is read. A member that is absent counts as not set. */
export type Varz = {
  readonly server_id?: string;
  readonly server_name?: string;
  readonly version?: string;
  readonly max_payload?: number;
  readonly jetstream?: {readonly config?: {readonly sync_always?: boolean; readonly store_dir?: string}};
};

/** The part of `/jsz` that is read. */
type Jsz = {readonly disabled?: boolean; readonly config?: NonNullable<Varz['jetstream']>['config']};

/**
 * A server whose page was read before it had started JetStream leaves the settings of JetStream out of `/varz` until it
 * ends; `/jsz` has them.
 * @param monitor such as http://10.0.0.1:8222. @param ca of a page over TLS. @throws NatsRefusal
 */
export async function varzOf(monitor: string, ca?: string): Promise<Varz> {
  const pages = new MonitorPages([monitor], ca);
  try {
    const varz = (await pages.read(monitor, '/varz')) as Varz;
    if (varz.jetstream?.config !== undefined) return varz;
    const {disabled, config} = (await pages.read(monitor, '/jsz')) as Jsz;
    return disabled === true || config === undefined ? varz : {...varz, jetstream: {config}};
  } catch (error) {
    const {cause, message} = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new NatsRefusal(`the monitoring page of the NATS server at ${monitor} cannot be read: ${reason}.`, {
      cause: error,
    });
  } finally {
    await pages.close();
  }
}

/** One sentence, or null: there are enough of them. */
export function countFault(servers: number, allowSingleLog: boolean): string | null {
  const least = allowSingleLog ? 1 : REPLICAS_LEAST;
  if (servers >= least) return null;
  return `a cluster needs ${least} NATS servers and has ${servers}; for development, --allow-single-log permits one.`;
}

/** One sentence, or null: the servers are as they have to be. */
export function serversFault(servers: readonly Varz[]): string | null {
  const ids = new Set<string | undefined>();
  for (const [i, server] of servers.entries()) {
    const name = server.server_name ?? `${i + 1}`;
    const fault = serverFault(server);
    if (fault !== null) return `the NATS server ${name} ${fault}.`;
    if (ids.has(server.server_id)) return `two of the addresses are those of one NATS server, ${name}.`;
    ids.add(server.server_id);
  }
  return null;
}

function serverFault({version = '0', max_payload: payload = 0, jetstream}: Varz): string | null {
  if (!isAtLeast(version, VERSION_LEAST)) {
    return `has version ${version}, which can lose acknowledged records; svc needs ${VERSION_LEAST} or later`;
  }
  if (jetstream?.config?.store_dir === undefined) return 'has no JetStream; add a jetstream section with a store_dir';
  if (jetstream.config.sync_always !== true) {
    return 'acknowledges records before they are on disk; set sync_interval to always in its jetstream section';
  }
  if (payload < MESSAGE_BYTES_LEAST) {
    return `takes messages of up to ${payload} bytes; set max_payload to ${MESSAGE_BYTES_LEAST} or more`;
  }
  return null;
}

/** A pre-release counts as its version. */
export function isAtLeast(version: string, least: string): boolean {
  const [is, needs] = [version, least].map(text => text.split('-')[0]!.split('.').map(Number));
  for (const [i, number] of needs!.entries()) {
    const other = is![i] ?? 0;
    if (other !== number) return other > number;
  }
  return true;
}
