/** `svc services …` manages a tenant's long-running code. */

import {dirname, resolve} from 'node:path';
import {type Command, Option} from 'commander';
import {SERVICE_LOG_ENTRIES_KEEP} from '../shared/limits.ts';
import type {BodyOf, SuccessOf} from '../shared/operation-types.ts';
import type {ServiceLogEntry, ServiceRecord} from '../shared/protocol/services.ts';
import {RefusedRequest} from './client.ts';
import {ALL, jsonIn, listVerb, showList, showVerb, subcommand, textIn} from './control.ts';
import {CommandFailure} from './failure.ts';
import {count, followLines, linesOf, SeenLines} from './follow.ts';
import {printable, printableJson} from './printable.ts';
import {ask, type Target, type TargetOptions} from './project/target.ts';

type LogOptions = TargetOptions & {history: number; follow?: true; jsonl?: true};
type Definition = BodyOf<'services.create'>;

const VERBS = [
  ['services.start', 'start one; it also runs after restarts of the server'],
  ['services.stop', 'stop one; waits until it has stopped'],
  ['services.restart', 'end its process and start a new one'],
] as const;

export function register(program: Command): void {
  const services = program.command('services').description('manage long-running code of a tenant');
  listVerb(services, 'list', ALL, async target => (await ask(target, 'services.list', [])).services, lineOf);
  showVerb(services, 'show <name>', async (target, name) => (await ask(target, 'services.get', [name])).service);
  subcommand(services, 'apply <file>', 'create or change those in a JSON file', (target, _, file) =>
    apply(target, file!),
  );
  for (const [operation, description] of VERBS) {
    subcommand(services, `${operation.slice('services.'.length)} <name>`, description, async (target, _, name) => {
      showList([(await ask(target, operation, [name!])).service], false, lineOf);
    });
  }
  subcommand(services, 'delete <name>', 'stop and delete one', async (target, _, name) => {
    await ask(target, 'services.delete', [name!]);
    process.stdout.write(`deleted ${name}\n`);
  });
  subcommand<LogOptions>(
    services,
    'logs <name>',
    'print the newest lines that one logged',
    (target, options, name) => showLog(target, name!, options),
    command =>
      command
        .addOption(new Option('--history <count>', 'lines to begin with').argParser(count).default(100))
        .option('--follow', 'then print each new line, until Ctrl-C')
        .option('--jsonl', 'one entry per line, as JSON'),
  );
}

function lineOf({name, state, desired_state: desired, restarts, last_exit: exit}: ServiceRecord): string {
  const wanted = desired === 'running' && state !== 'running' ? ' (wanted)' : '';
  const again = restarts === 0 ? '' : `  ${restarts} restarts`;
  const ended = exit === null || exit.reason === 'stopped' ? '' : `  last: ${exit.reason}${firstLine(exit.message)}`;
  return `${name}  ${state}${wanted}${again}${ended}`;
}

function firstLine(message: string | null): string {
  return message === null ? '' : `, ${message.split('\n')[0]}`;
}

/** Changes an existing service, or creates a new one. */
async function apply(target: Target, file: string): Promise<void> {
  const given = await jsonIn(file);
  const definitions = await Promise.all([given].flat().map(one => definitionOf(one, file)));
  for (const definition of definitions) {
    const {name, ...rest} = definition;
    let verb = 'changed';
    let found: SuccessOf<'services.update'>;
    try {
      found = await ask(target, 'services.update', [name], {body: rest});
    } catch (caught) {
      if (!(caught instanceof RefusedRequest) || caught.code !== 'op.not_found') throw caught;
      verb = 'made';
      found = await ask(target, 'services.create', [], {body: definition, repeat: 'keyed'});
    }
    process.stdout.write(`${printable(`${verb} ${lineOf(found.service)}`)}\n`);
  }
}

/**
 * Inline code can be in a separate file, which `source.file` names relative to the definition. @throws CommandFailure
 */
async function definitionOf(given: unknown, file: string): Promise<Definition> {
  const definition = given as (Definition & {source: {file?: unknown}}) | null;
  if (typeof definition !== 'object' || typeof definition?.name !== 'string') {
    throw new CommandFailure(`${file} must hold a definition with a name, or an array of them`);
  }
  const code = definition.source?.file;
  if (code === undefined) return definition;
  if (typeof code !== 'string') throw new CommandFailure(`source.file of ${definition.name} must be a path`);
  const path = file === '-' ? resolve(code) : resolve(dirname(file), code);
  return {...definition, source: {type: 'inline', code: await textIn(path)}};
}

async function showLog(target: Target, name: string, {history, follow, jsonl}: LogOptions): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const {signal} = interrupted;
  const entries = (most: number, isFollowed: boolean) =>
    linesOf(target.client, 'services.logs', [target.tenant, name], {history: most, follow: `${isFollowed}`}, signal);
  const show = (line: string) => void process.stdout.write(`${jsonl === true ? printableJson(line) : textOf(line)}\n`);
  const seen = new SeenLines<ServiceLogEntry>(
    ({n, at}) => `${n} ${at}`,
    ({at}) => at,
  );
  // Even without a history its newest line is read, because it shows where the new ones begin.
  for await (const line of entries(Math.max(history, 1), false)) {
    seen.begin(line);
    if (history > 0) show(line);
  }
  if (follow === true) {
    await followLines(
      () => entries(SERVICE_LOG_ENTRIES_KEEP, true),
      line => seen.add(line) && show(line),
      signal,
    );
  }
}

function textOf(json: string): string {
  const {at, level, line} = JSON.parse(json) as ServiceLogEntry;
  return printable(`${new Date(at).toISOString().slice(11, 23)} ${level === 'service' ? '–' : level} ${line}`);
}
