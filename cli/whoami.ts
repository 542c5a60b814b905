/** `svc whoami` shows which credential is used, and its rights. */
import type {Command} from 'commander';
import type {Static} from 'typebox';
import type {WhoAmI} from '../shared/protocol/keys.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {showRecord} from './control.ts';
import {printable} from './printable.ts';
import {atServer} from './server-verb.ts';

export type Identity = Static<typeof WhoAmI>;

export function register(program: Command): void {
  addServerOptions(
    program.command('whoami').description('the credential that svc uses, and its rights').option('--json', 'as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('whoami', options, async client => {
      const identity = await client.json<Identity>('GET', '/api/whoami');
      if (options.json === true) showRecord(identity);
      else process.stdout.write(`${printable(textOf(identity))}\n`);
    }),
  );
}

/** As one line. */
export function textOf({id, name, scopes, tenants, tables}: Identity): string {
  if (id === null) return `${name}: an admin credential, with all rights`;
  const limits = [`scopes ${scopes.join(', ')}`];
  if (tenants !== null) limits.push(`tenants ${tenants.join(', ')}`);
  if (tables !== null) limits.push(`tables ${tables.join(', ')}`);
  return `${name} (${id}): ${limits.join('; ')}`;
}
