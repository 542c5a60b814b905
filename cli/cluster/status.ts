/** `svc cluster status` and `svc cluster members` show hosts, and which of them owns which tenant. */
import type {Command} from 'commander';
import {CLUSTER_PAGE_MAX} from '../../shared/limits.ts';
import type {QueryOf} from '../../shared/operation-types.ts';
import type {ClusterHost, ClusterStatus, ClusterTenant} from '../../shared/protocol/cluster.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from '../client.ts';
import {showList} from '../control.ts';
import {counted} from '../counted.ts';
import {printable, printableJson} from '../printable.ts';
import {atServer} from '../server-verb.ts';

type WholeStatus = Omit<ClusterStatus, 'next_cursor'>;
type StatusOptions = ServerOptions & {json?: true; tenants?: true};

export function registerStatus(cluster: Command): void {
  addServerOptions(
    cluster
      .command('status')
      .description('hosts, and tenants that are not where they should be; exit code 1 if the host has no lease')
      .option('--tenants', 'all tenants with their owners')
      .option('--json', 'everything, as JSON'),
  ).action((options: StatusOptions) =>
    atServer('cluster status', options, async client => {
      const status = await wholeStatus(client);
      const isAll = options.tenants === true;
      const text = options.json === true ? printableJson(JSON.stringify(status)) : printable(statusText(status, isAll));
      process.stdout.write(`${text}\n`);
      if (!status.lease) process.exitCode = 1;
    }),
  );
  addServerOptions(
    cluster.command('members').description('the hosts of the cluster').option('--json', 'one host per line, as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('cluster members', options, async client => {
      const {hosts} = await client.ask('cluster.members', []);
      const widest = widthOf(hosts.map(({host}) => host));
      showList(hosts, options.json === true, host => hostText(host, widest));
    }),
  );
}

async function wholeStatus(client: ServiceClient): Promise<WholeStatus> {
  const tenants: ClusterTenant[] = [];
  for (let cursor: string | null = null; ; ) {
    const query: QueryOf<'cluster.status'> = {limit: CLUSTER_PAGE_MAX, ...(cursor === null ? {} : {cursor})};
    const {next_cursor, ...page}: ClusterStatus = await client.ask('cluster.status', [], {query});
    tenants.push(...page.tenants);
    cursor = next_cursor;
    if (cursor === null) return {...page, tenants};
  }
}

function statusText({cluster, host, state, lease, hosts, tenants}: WholeStatus, isAll: boolean): string {
  const shown = isAll
    ? tenants
    : tenants.filter(one => one.state === 'moving' || one.state === 'lost' || isAstray(one));
  const widest = widthOf(hosts.map(one => one.host));
  const widestTenant = widthOf(shown.map(({tenant}) => tenant));
  return [
    `cluster  ${cluster}, as ${host} knows it (${state}, ${lease ? 'with its lease' : 'WITHOUT ITS LEASE: it serves nothing'})`,
    `hosts    ${hosts.length}`,
    ...hosts.map(one => `  ${hostText(one, widest)}`),
    `tenants  ${tenants.length}${isAll ? '' : `, ${shown.length} of them moving, lost or not where they are pinned`}`,
    ...shown.map(one => `  ${tenantText(one, widestTenant)}`),
  ].join('\n');
}

function hostText({host, state, address, silent_ms, tenants, versions}: ClusterHost, widest: number): string {
  const silent = `silent for ${(silent_ms / 1_000).toFixed(1)} s`;
  const parts = [state, address, counted(tenants, 'tenant'), silent, versions && `svc ${versions.svc}`];
  return `${host.padEnd(widest)}  ${parts.filter(part => part !== null).join('  ')}`;
}

export function tenantText({tenant, owner, state, epoch, standbys, pin}: ClusterTenant, widest = 0): string {
  const where = owner === null ? 'never opened' : `at ${owner}`;
  const copies = standbys.length === 0 ? 'no standby' : `standby ${standbys.join(', ')}`;
  const pinned = pin === null ? '' : `  pinned to ${pin}`;
  return `${tenant.padEnd(widest)}  ${where}  ${state}  epoch ${epoch}  ${copies}${pinned}`;
}

function isAstray({owner, pin}: ClusterTenant): boolean {
  return pin !== null && owner !== null && owner !== pin;
}

function widthOf(names: string[]): number {
  return Math.max(0, ...names.map(({length}) => length));
}
