/** Shared parts of the verbs for services, sandboxes and sessions: showing records and executing code. */
import {readFile} from 'node:fs/promises';
import type {Command} from 'commander';
import type {BodyOf, SuccessOf} from '../shared/operation-types.ts';
import type {ExecutionFailure} from '../shared/protocol/sandboxes.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

/** What lists say of themselves. */
export const ALL = 'list all, one per line';

/** A verb below another: its options are those of a target, and those that `describe` adds. */
export function subcommand<Options extends TargetOptions>(
  parent: Command,
  usage: string,
  description: string,
  act: (target: Target, options: Options, ...args: string[]) => Promise<void>,
  describe: (command: Command) => Command = command => command,
): void {
  const command = describe(parent.command(usage).description(description));
  addTargetOptions(command).action((...given: unknown[]) => {
    // Commander passes the arguments, then the options, then the command.
    const args = given.slice(0, -2) as string[];
    const options = given.at(-2) as Options;
    return reportFailure(`svc ${parent.name()} ${command.name()}`, () =>
      withTarget(options, target => act(target, options, ...args)),
    );
  });
}

/** A verb that prints the records that it reads, one per line. */
export function listVerb<R extends object>(
  parent: Command,
  usage: string,
  description: string,
  read: (target: Target, ...args: string[]) => Promise<readonly R[]>,
  text: (record: R) => string,
  record = 'record',
): void {
  subcommand<TargetOptions & {json?: true}>(
    parent,
    usage,
    description,
    async (target, {json}, ...args) => showList(await read(target, ...args), json === true, text),
    command => command.option('--json', `one ${record} per line, as JSON`),
  );
}

/** A verb that prints the record that it reads. */
export function showVerb(
  parent: Command,
  usage: string,
  read: (target: Target, name: string) => Promise<object>,
): void {
  subcommand(parent, usage, 'print the record of one', async (target, _, name) =>
    showRecord(await read(target, name!)),
  );
}

/** A verb that runs code in a sandbox. */
export function executeVerb(parent: Command, operation: 'sandboxes.execute' | 'sessions.execute'): void {
  subcommand<TargetOptions & {args: string}>(
    parent,
    'exec <id> <code>',
    'run the body of an async function of args; @path reads it from a file',
    async (target, {args}, id, code) => execute(target, operation, id!, await executionOf(code!, args)),
    command => command.option('--args <json>', 'its arguments', '{}'),
  );
}

export function showRecord(record: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(record, null, 2))}\n`);
}

/** One line per record. @param isJson as JSON */
export function showList<R extends object>(records: readonly R[], isJson: boolean, text: (record: R) => string): void {
  if (records.length === 0 && !isJson) process.stderr.write('none\n');
  for (const record of records)
    process.stdout.write(`${isJson ? printableJson(JSON.stringify(record)) : printable(text(record))}\n`);
}

/** The JSON of a file, or of standard input for `-`; the server checks its type. @throws CommandFailure */
export async function jsonIn<T = unknown>(file: string): Promise<T> {
  const text = await textIn(file);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new CommandFailure(`${file} is not JSON: ${(cause as Error).message}`, 1, {cause});
  }
}

/** @throws CommandFailure */
export async function textIn(file: string): Promise<string> {
  try {
    return file === '-' ? await standardInput() : await readFile(file, 'utf8');
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be read: ${(cause as Error).message}`, 1, {cause});
  }
}

/** @throws CommandFailure */
async function executionOf(code: string, args: string): Promise<BodyOf<'sandboxes.execute'>> {
  return {
    code: code.startsWith('@') ? await textIn(code.slice(1)) : code,
    args: argumentsIn(args),
  };
}

function argumentsIn(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>;
  } catch (cause) {
    throw new CommandFailure(`--args is not JSON: ${(cause as Error).message}`, 2, {cause});
  }
}

/** Prints the value of an execution; its log lines go to stderr. @throws CommandFailure with the reason of a failure */
async function execute(
  target: Target,
  operation: 'sandboxes.execute' | 'sessions.execute',
  id: string,
  body: BodyOf<'sandboxes.execute'>,
): Promise<void> {
  let executed: SuccessOf<'sandboxes.execute'>;
  try {
    executed = await ask(target, operation, [id], {body, repeat: 'once'});
  } catch (caught) {
    if (!(caught instanceof RefusedRequest) || caught.code !== 'sandbox.execution_failed') throw caught;
    const {reason, name, log_lines: lines, state} = caught.detail as ExecutionFailure;
    say(lines);
    const said = reason === 'threw' || reason === 'syntax' ? `${name}: ${caught.message}` : caught.message;
    throw new CommandFailure(`${printable(said)} (${reason}; the sandbox is ${state})`, 1, {cause: caught});
  }
  say(executed.log_lines);
  showRecord(executed.value);
}

function say(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`${printable(line)}\n`);
}

export async function standardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text;
}
