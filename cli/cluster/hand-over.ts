/** `svc cluster move`, `pin`, `unpin` and `drain` change where tenants are. */
import {setTimeout as delay} from 'node:timers/promises';
import type {Command} from 'commander';
import type {ClusterHost, ClusterTenant} from '../../shared/protocol/cluster.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from '../client.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {TASK_POLL_MS} from '../limits.ts';
import {printable, printableJson} from '../printable.ts';
import {atServer} from '../server-verb.ts';
import {TransientLine} from '../transient-line.ts';
import {tenantText} from './status.ts';

type Options = ServerOptions & {json?: true};

export function registerMoves(cluster: Command): void {
  verb(cluster, 'move <tenant> <host>', 'hand a tenant to another host, once', (client, tenant, host) =>
    client.ask('cluster.move', [], {body: {tenant, host: host!}}),
  );
  verb(
    cluster,
    'pin <tenant> <host>',
    'keep a tenant on a host for as long as the host is alive',
    (client, tenant, host) => client.ask('cluster.pin', [], {body: {tenant, host: host!}}),
  );
  verb(cluster, 'unpin <tenant>', 'let the placement decide again', (client, tenant) =>
    client.ask('cluster.pin', [], {body: {tenant, host: null}}),
  );
}

export function registerDrain(cluster: Command): void {
  addServerOptions(
    cluster
      .command('drain [host]')
      .description('hand all tenants of a host to others, before it is stopped; without a name: the host that answers')
      .option('--no-wait', 'do not wait until it has none')
      .option('--json', 'the host, as JSON'),
  ).action((name: string | undefined, options: Options & {wait: boolean}) =>
    atServer('cluster drain', options, async client => {
      const host = name ?? (await client.ask('cluster.status', [], {query: {limit: 1}})).host;
      const {host: begun} = await client.ask('cluster.drain', [], {body: {host}});
      const drained = options.wait ? await withoutTenants(client, begun) : begun;
      const text = `${host} is ${drained.state} and has ${counted(drained.tenants, 'tenant')}`;
      show(options, drained, text);
    }),
  );
}

function verb(
  cluster: Command,
  usage: string,
  description: string,
  act: (client: ServiceClient, tenant: string, host?: string) => Promise<{tenant: ClusterTenant}>,
): void {
  const command = cluster.command(usage).description(description).option('--json', 'the tenant, as JSON');
  addServerOptions(command).action((...given: unknown[]) => {
    // Commander passes the arguments, then the options, then the command.
    const options = given.at(-2) as Options;
    const [tenant, host] = given.slice(0, -2) as string[];
    return atServer(`cluster ${command.name()}`, options, async client => {
      const moved = (await act(client, tenant!, host)).tenant;
      show(options, moved, tenantText(moved));
    });
  });
}

/**
 * A host that is live has not read the request yet.
 *
 * @throws CommandFailure if the host was started again, so that the request is not for it
 */
async function withoutTenants(client: ServiceClient, begun: ClusterHost): Promise<ClusterHost> {
  const line = new TransientLine(process.stderr);
  try {
    for (let host = begun; ; await delay(TASK_POLL_MS)) {
      const {hosts} = await client.ask('cluster.members', []);
      host = hosts.find(one => one.host === begun.host) ?? {...host, state: 'left', tenants: 0};
      if (host.tenants === 0 && host.state !== 'live') return host;
      if (host.incarnation !== begun.incarnation && host.state === 'live')
        throw new CommandFailure(`${host.host} was started again and has ${counted(host.tenants, 'tenant')}`);
      line.show(`${host.host} has ${counted(host.tenants, 'tenant')}`);
    }
  } finally {
    line.clear();
  }
}

function show({json}: Options, record: object, text: string): void {
  process.stdout.write(`${json === true ? printableJson(JSON.stringify(record)) : printable(text)}\n`);
}
