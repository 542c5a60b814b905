/**
 * `svc run PATH [ARGS]` calls any function, including internal ones, and prints its result. Log lines go to stderr.
 */
import {type Command, InvalidArgumentError, Option} from 'commander';
import type {ErrorObject} from '../shared/errors.ts';
import type {WatchedReply} from '../shared/protocol/function-calls.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {followLines, linesOf} from './follow.ts';
import {printable, printableJson} from './printable.ts';
import {push} from './project/push.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {identity?: object; push?: true; watch?: true};
export type Call = {path: string; args: object; identity?: object};

/** An event of the stream; the last one has the reason of its end. */
type Watched = WatchedReply | {error: ErrorObject | null};
/** Begins the line of an event that has its content. */
const DATA = 'data: ';

export function register(program: Command): void {
  const command = program
    .command('run')
    .description('call a function and print what it returns as JSON')
    .argument('<path>', 'messages:list, or messages for a default export')
    .argument('[args]', 'its arguments, a JSON object', jsonObject, {})
    .addOption(new Option('--identity <json>', 'the result of ctx.auth.getUserIdentity()').argParser(jsonObject))
    .option('--push', 'deploy the project first')
    .option('--watch', 'print the result of a query again after each change');
  addTargetOptions(command).action((path: string, args: object, options: Options) =>
    reportFailure('svc run', () => run(path, args, options)),
  );
}

function run(path: string, args: object, {identity, push: pushes, watch: watches, ...options}: Options): Promise<void> {
  return withTarget(options, async target => {
    if (pushes === true) await push(target, {typecheck: 'try', message: null, dryRun: false}, say);
    const call = {path, args, ...(identity === undefined ? {} : {identity})};
    if (watches === true) await watch(target, call);
    else process.stdout.write(await resultText(target, call));
  });
}

/** Its result as JSON. Its log lines go to stderr. @throws CommandFailure with the function's own message */
export async function resultText(target: Target, call: Call): Promise<string> {
  const reply = await ask(target, 'functions.run', [], {body: call, repeat: 'once'});
  for (const line of reply.logLines ?? []) say(printable(line));
  if (reply.status === 'error') throw new CommandFailure(printable(reply.errorMessage.trimEnd()));
  return `${printableJson(JSON.stringify(reply.value, null, 2))}\n`;
}

/** Prints the result of each event, across restarts of the tenant and the server. */
async function watch({client, tenant}: Target, call: Call): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const {signal} = interrupted;
  let shown = '';
  await followLines(
    () => linesOf(client, 'functions.watch', [tenant], {}, signal, call),
    line => {
      if (line.startsWith(DATA)) shown = showChange(JSON.parse(line.slice(DATA.length)) as Watched, shown);
    },
    signal,
  );
}

/** A reconnected stream begins with a result that may be known. @returns the text now shown */
function showChange(event: Watched, shown: string): string {
  if ('error' in event) throw new CommandFailure(event.error?.message ?? 'the stream ended');
  const text = event.status === 'success' ? JSON.stringify(event.value, null, 2) : event.errorMessage.trimEnd();
  if (text === shown) return shown;
  for (const line of event.logLines ?? []) say(printable(line));
  if (event.status === 'success') process.stdout.write(`${printableJson(text)}\n`);
  else say(`svc run: ${printable(text)}`);
  return text;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function jsonObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidArgumentError(`It is not JSON: ${(cause as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new InvalidArgumentError(`It must be a JSON object, like '{"name": "Ada"}'.`);
}
