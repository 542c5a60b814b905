/** `svc key create|list|rotate|revoke` manages API keys, with limited rights and an expiry date. */
import {type Command, Option} from 'commander';
import type {AnswerOf, BodyOf} from '../shared/operation-types.ts';
import type {Key} from '../shared/protocol/keys.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from './client.ts';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {showList} from './control.ts';
import {CommandFailure} from './failure.ts';
import {atServer} from './server-verb.ts';

type CreateOptions = ServerOptions & {
  scopes: string;
  tenants?: string;
  tables?: string;
  expires?: number;
  rate?: number;
  burst?: number;
};

const UNIT_SECONDS: Record<string, number> = {s: 1, m: 60, h: 3_600, d: 86_400};

export function register(program: Command): void {
  const key = program.command('key').description('create and manage API keys');
  addServerOptions(
    key
      .command('create <name>')
      .description('create a key; its secret is printed once, on stdout')
      .requiredOption('--scopes <list>', 'its rights, like data:read,data:write')
      .option('--tenants <list>', 'only these; otherwise all')
      .option('--tables <list>', 'only these; otherwise all')
      .addOption(new Option('--expires <time>', 'from now, like 12h or 30d; otherwise never').argParser(secondsIn))
      .addOption(new Option('--rate <n>', 'requests per second').argParser(Number))
      .addOption(new Option('--burst <n>', 'requests at once; otherwise those of one second').argParser(Number)),
  ).action((name: string, options: CreateOptions) =>
    report('create', options, async client =>
      shown(await client.ask('keys.create', [], {body: bodyOf(name, options), repeat: 'once'})),
    ),
  );
  addServerOptions(
    key.command('list').description('list all, one per line').option('--json', 'one key per line, as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    report('list', options, async client => showList(await keysOf(client), options.json === true, lineOf)),
  );
  addServerOptions(
    key
      .command('rotate <name>')
      .description('create a new secret for a key, by name or id; printed once, on stdout')
      .addOption(
        new Option('--overlap <time>', 'how long the previous secret stays valid')
          .default(3_600, '1h')
          .argParser(secondsIn),
      ),
  ).action((name: string, options: ServerOptions & {overlap: number}) =>
    report('rotate', options, async client => {
      const {id} = await find(client, name);
      shown(await client.ask('keys.rotate', [id], {body: {overlap_seconds: options.overlap}, repeat: 'once'}));
    }),
  );
  addServerOptions(
    addYesOption(key.command('revoke <name>').description('revoke a key at once, by name or id')),
  ).action((name: string, options: ServerOptions & ConfirmOptions) =>
    report('revoke', options, async client => {
      const found = await find(client, name);
      await confirm(`this ends the key ${found.name}`, found.name, options, 'terminal');
      await client.ask('keys.revoke', [found.id]);
      process.stdout.write(`revoked ${found.name}\n`);
    }),
  );
}

function report(verb: string, options: ServerOptions, act: (client: ServiceClient) => Promise<void>): Promise<void> {
  return atServer(`key ${verb}`, options, act);
}

function bodyOf(name: string, {scopes, tenants, tables, expires, rate, burst}: CreateOptions): BodyOf<'keys.create'> {
  if (burst !== undefined && rate === undefined) throw new CommandFailure('--burst needs --rate', 2);
  return {
    name,
    scopes: listIn(scopes) as Key['scopes'],
    tenants: tenants === undefined ? null : listIn(tenants),
    tables: tables === undefined ? null : listIn(tables),
    expires_in_seconds: expires ?? null,
    rate_limit: rate === undefined ? null : {requests_per_second: rate, burst: burst ?? rate},
  };
}

function listIn(text: string): string[] {
  return text.split(',').map(part => part.trim());
}

function secondsIn(text: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (unit === undefined) throw new CommandFailure(`a time is a number with s, m, h or d, like 12h, not ${text}`, 2);
  return Number(count) * UNIT_SECONDS[unit]!;
}

function shown({key: {id, name}, secret}: AnswerOf<'keys.create'>): void {
  process.stderr.write(`${name} (${id}); the secret is not shown again:\n`);
  process.stdout.write(`${secret}\n`);
}

async function keysOf(client: ServiceClient): Promise<Key[]> {
  const {keys, damaged} = await client.ask('keys.list', []);
  for (const id of damaged) process.stderr.write(`${id} is damaged on disk and not valid: revoke it\n`);
  return keys;
}

async function find(client: ServiceClient, name: string): Promise<Pick<Key, 'id' | 'name'>> {
  const {keys, damaged} = await client.ask('keys.list', []);
  const named = keys.filter(key => key.name === name);
  if (named.length > 1) {
    const ids = named.map(({id}) => id).join(', ');
    throw new CommandFailure(`there are several keys ${name}: say the id of the one that you mean, of ${ids}`);
  }
  const found = named[0] ?? keys.find(key => key.id === name);
  if (found !== undefined) return found;
  if (damaged.includes(name)) return {id: name, name};
  throw new CommandFailure(`there is no key ${name}; svc key list shows them`);
}

function lineOf({id, name, scopes, tenants, tables, expires_at, last_used_at, secrets}: Key): string {
  const parts = [
    name,
    id,
    scopes.join(','),
    ...(tenants === null ? [] : [`tenants ${tenants.join(',')}`]),
    ...(tables === null ? [] : [`tables ${tables.join(',')}`]),
    expires_at === null ? 'never ends' : `${expires_at <= Date.now() ? 'expired' : 'ends'} ${timeOf(expires_at)}`,
    last_used_at === null ? 'never used' : `used ${timeOf(last_used_at)}`,
    ...(secrets.length > 1 ? ['two secrets'] : []),
  ];
  return parts.join('  ');
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
