/** `svc whoami` shows which credential is used, and its rights. */
import type {Command} from 'commander';
import type {AnswerOf} from '../shared/operation-types.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {showRecord} from './control.ts';
import {printable} from './printable.ts';
import {atServer} from './server-verb.ts';

export function register(program: Command): void {
  addServerOptions(
    program
      .command('whoami')
      .description('show the credential that svc uses, and its rights')
      .option('--json', 'as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('whoami', options, async client => {
      const identity = await client.ask('whoami', []);
      if (options.json === true) showRecord(identity);
      else process.stdout.write(`${printable(textOf(identity))}\n`);
    }),
  );
}

/** As one line. */
export function textOf({id, name, scopes, tenants, tables}: AnswerOf<'whoami'>): string {
  if (id === null) return `${name}: an admin credential, with all rights`;
  const limits = [`scopes ${scopes.join(', ')}`];
  if (tenants !== null) limits.push(`tenants ${tenants.join(', ')}`);
  if (tables !== null) limits.push(`tables ${tables.join(', ')}`);
  return `${name} (${id}): ${limits.join('; ')}`;
}
