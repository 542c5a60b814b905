/** `svc tenants list|create|delete` manages tenants. */
import type {Command} from 'commander';
import {addServerOptions, RefusedRequest, type ServerOptions} from './client.ts';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {showList} from './control.ts';
import {CommandFailure} from './failure.ts';
import {atServer} from './server-verb.ts';

export function register(program: Command): void {
  const tenants = program.command('tenants').description('list, create and delete tenants');
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
