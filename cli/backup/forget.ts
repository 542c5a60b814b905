/**
 * `svc backup forget TENANT` removes a tenant's data key from a repository, so that nothing can read its copies any more.
 * A server can be running: if it has the tenant, it copies it again under a new key.
 */
import type {Command} from 'commander';
import type {Repository} from '../../copies/repository/repository.ts';
import {addYesOption, type ConfirmOptions, confirm} from '../confirm.ts';
import {CommandFailure} from '../failure.ts';
import {printable} from '../printable.ts';
import {serverTenants} from '../restore/server-state.ts';
import {addRepositoryOptions, atRepository, type RepositoryOptions} from './at-repository.ts';

export function register(backup: Command): void {
  addYesOption(addRepositoryOptions(backup.command('forget')))
    .description('make all copies of a tenant unreadable for ever, by removing their key')
    .argument('<tenant>', 'its name in the repository')
    .action((tenant: string, options: RepositoryOptions & ConfirmOptions) =>
      atRepository('svc backup forget', options, repository => forget(repository, tenant, options)),
    );
}

/** @throws CommandFailure */
async function forget(repository: Repository, tenant: string, options: ConfirmOptions): Promise<void> {
  const isThere = (await repository.tenants()).includes(tenant) || (await repository.lostKeys()).has(tenant);
  if (!isThere) throw new CommandFailure(`the repository has no copies of the tenant ${printable(tenant)}`);
  if (options.yes !== true && (await serverTenants(repository))?.isPaused.has(tenant) === true) {
    const message = `the server that writes to this repository has the tenant ${tenant}, and goes on copying it`;
    throw new CommandFailure(`${message}: give --yes to remove the copies that were made until now`, 2);
  }
  await confirm(`this makes all copies of the tenant ${tenant} unreadable`, tenant, options, 'always');
  await repository.forget(tenant);
  process.stdout.write(`no copy of ${tenant} can be read any more\n`);
}
