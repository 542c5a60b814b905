/** `svc tenants list|status|create|delete|wake|sleep|pause|resume|export|import|clone` manages tenants. */
import type {Command} from 'commander';
import {OVERVIEW_PAGE_TENANTS_MAX} from '../shared/limits.ts';
import type {QueryOf} from '../shared/operation-types.ts';
import type {TenantStatus} from '../shared/protocol/tenant-status.ts';
import {addServerOptions, RefusedRequest, type ServerOptions, type ServiceClient} from './client.ts';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {showList, showRecord} from './control.ts';
import {CommandFailure} from './failure.ts';
import {atServer} from './server-verb.ts';
import {registerFiles} from './tenant-files.ts';

export function register(program: Command): void {
  const tenants = program.command('tenants').alias('tenant').description('list, create, pause and delete tenants');
  addServerOptions(
    tenants.command('list').description('all tenants of the server').option('--json', 'one tenant per line, as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('tenants list', options, async client => {
      const {tenants: ids} = await client.ask('tenants.list', []);
      const records = ids.map(id => ({id}));
      showList(records, options.json === true, ({id}) => id);
    }),
  );
  addServerOptions(tenants.command('create <id>').description('create a tenant')).action(
    (id: string, options: ServerOptions) =>
      atServer('tenants create', options, async client => {
        if (!(await client.createTenant(id))) throw new CommandFailure(`there is a tenant ${id} already`);
        process.stdout.write(`created ${id}\n`);
      }),
  );
  registerStates(tenants);
  registerFiles(tenants);
  addServerOptions(
    addYesOption(tenants.command('delete <id>').description('delete a tenant with all its data; it asks for the name')),
  ).action((id: string, options: ServerOptions & ConfirmOptions) =>
    atServer('tenants delete', options, async client => {
      const {tenants: ids} = await client.ask('tenants.list', []);
      if (!ids.includes(id)) throw new CommandFailure(`there is no tenant ${id}`);
      await confirm(`this deletes the tenant ${id} with all its documents, functions and files`, id, options, 'always');
      await client.ask('tenants.delete', [id]).catch((caught: unknown) => {
        // A retried request can find the effect of the first one.
        if (!(caught instanceof RefusedRequest) || caught.code !== 'session.tenant_not_found') throw caught;
      });
      process.stdout.write(`deleted ${id}\n`);
    }),
  );
}

type StatusOptions = ServerOptions & Pick<QueryOf<'tenants.overview'>, 'search' | 'state' | 'order'> & {json?: true};

const ACTIONS = {
  wake: 'start the worker of a tenant',
  sleep: 'stop the worker of an idle tenant',
  resume: 'resume a paused tenant',
} as const;

function registerStates(tenants: Command): void {
  addServerOptions(
    tenants
      .command('status [id]')
      .description('states and figures of all tenants, or of one')
      .option('--search <text>', 'tenants with this in their ids')
      .option('--state <state>', 'asleep, waking, awake, cool_down, paused or damaged')
      .option('--order <order>', 'id, requests, errors, p99, sockets or last_active')
      .option('--json', 'one tenant per line, as JSON'),
  ).action((id: string | undefined, options: StatusOptions) =>
    atServer('tenants status', options, async client => {
      if (id !== undefined) showRecord((await client.ask('tenants.status', [id])).tenant);
      else await showAll(client, options);
    }),
  );
  for (const [action, description] of Object.entries(ACTIONS) as [keyof typeof ACTIONS, string][]) {
    addServerOptions(tenants.command(`${action} <id>`).description(description)).action(
      (id: string, options: ServerOptions) =>
        atServer(`tenants ${action}`, options, async client => {
          const {tenant} = await client.ask(`tenants.${action}`, [id]);
          process.stdout.write(`${id} is ${tenant.state}\n`);
        }),
    );
  }
  addServerOptions(
    tenants
      .command('pause <id>')
      .description('stop a tenant: its requests are refused and its jobs wait until it is resumed')
      .option('--serve <what>', 'nothing, or reads: it answers reads and queries, and nothing of it runs', 'nothing'),
  ).action((id: string, options: ServerOptions & Required<QueryOf<'tenants.pause'>>) =>
    atServer('tenants pause', options, async client => {
      const {tenant} = await client.ask('tenants.pause', [id], {query: {serve: options.serve}});
      process.stdout.write(`${id} is ${tenant.state}${tenant.serves === 'reads' ? ' and answers reads' : ''}\n`);
    }),
  );
}

async function showAll(client: ServiceClient, {search, state, order, json}: StatusOptions): Promise<void> {
  const query = {
    limit: OVERVIEW_PAGE_TENANTS_MAX,
    ...(search === undefined ? {} : {search}),
    ...(state === undefined ? {} : {state}),
    ...(order === undefined ? {} : {order}),
  };
  let page = await client.ask('tenants.overview', [], {query});
  showList(page.tenants, json === true, lineOf);
  while (page.next_cursor !== null) {
    page = await client.ask('tenants.overview', [], {query: {...query, cursor: page.next_cursor}});
    showList(page.tenants, json === true, lineOf);
  }
}

function lineOf(tenant: TenantStatus): string {
  const {id, state, documents, disk_bytes, requests_per_second, error_rate, p99_ms, sockets} = tenant;
  return [
    id.padEnd(24),
    state.padEnd(9),
    `${documents ?? '?'} documents`,
    `${Math.ceil(disk_bytes / 1024)} KiB`,
    `${requests_per_second} req/s`,
    `${Math.round(error_rate * 100)}% errors`,
    `p99 ${p99_ms === null ? '-' : `${p99_ms} ms`}`,
    `${sockets} sockets`,
  ].join('  ');
}
