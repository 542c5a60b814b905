/** Shared parts of the verbs for services, sandboxes and sessions: showing records and executing code. */
import {randomUUID} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import type {Command} from 'commander';
import type {ExecutionFailure} from '../shared/protocol/sandboxes.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {addTargetOptions, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Executed = {value: unknown; log_lines: string[]};

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

export function showRecord(record: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(record, null, 2))}\n`);
}

/** One line per record. @param isJson as JSON */
export function showList<R extends object>(records: readonly R[], isJson: boolean, text: (record: R) => string): void {
  if (records.length === 0 && !isJson) process.stderr.write('none\n');
  for (const record of records)
    process.stdout.write(`${isJson ? printableJson(JSON.stringify(record)) : printable(text(record))}\n`);
}

/** The JSON of a file, or of standard input for `-`. @throws CommandFailure */
export async function jsonIn(file: string): Promise<unknown> {
  const text = await textIn(file);
  try {
    return JSON.parse(text);
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

/** A retried request creates nothing twice. */
export async function createOnce<T>(target: Target, path: string, body: unknown): Promise<T> {
  const headers = {'idempotency-key': randomUUID()};
  const {body: answer} = await target.client.request('POST', path, JSON.stringify(body), headers);
  return JSON.parse(answer.toString()) as T;
}

/** @throws CommandFailure */
export async function executionOf(code: string, args = '{}'): Promise<object> {
  return {
    code: code.startsWith('@') ? await textIn(code.slice(1)) : code,
    args: argumentsIn(args),
  };
}

function argumentsIn(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch (cause) {
    throw new CommandFailure(`--args is not JSON: ${(cause as Error).message}`, 2, {cause});
  }
}

/** Prints the value of an execution; its log lines go to stderr. @throws CommandFailure with the reason of a failure */
export async function execute(target: Target, path: string, body: object): Promise<void> {
  let executed: Executed;
  try {
    executed = await target.client.jsonOnce<Executed>('POST', path, body);
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

async function standardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text;
}
