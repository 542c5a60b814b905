/**
 * `svc run PATH [ARGS]` calls any function, including internal ones, and prints its result. Log lines go to stderr.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, InvalidArgumentError, Option} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {push} from './project/push.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {identity?: object; push?: true; watch?: true};
export type Call = {path: string; args: object; identity?: object};

/** Poll interval of the journal with --watch. */
const WATCH_INTERVAL_MS = 500;

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

/** Only events in the journal can change the result of a query: writes, deployments, variables. */
async function watch(target: Target, call: Call): Promise<void> {
  await requireQuery(target, call.path);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let seen = -1;
  let shown = '';
  while (!interrupted.signal.aborted) {
    const {latest_sequence: latest} = await ask(target, 'journal.page', [], {query: {limit: 1}});
    if (latest !== seen) shown = await showChange(target, call, shown);
    seen = latest;
    await delay(WATCH_INTERVAL_MS, undefined, {signal: interrupted.signal}).catch(() => undefined);
  }
}

/** A query that fails now can succeed after the next write. @returns the text now shown */
async function showChange(target: Target, call: Call, shown: string): Promise<string> {
  try {
    const text = await resultText(target, call);
    if (text !== shown) process.stdout.write(text);
    return text;
  } catch (caught) {
    if (!(caught instanceof CommandFailure)) throw caught;
    if (caught.message !== shown) say(`svc run: ${caught.message}`);
    return caught.message;
  }
}

/** Any other function would be run again by its own writes, forever. */
async function requireQuery(target: Target, path: string): Promise<void> {
  const {functions} = await ask(target, 'functions.list', []);
  const [module = '', name = 'default'] = path.split(':');
  const canonical = `${module.replace(/\.[jt]s$/, '')}:${name}`;
  const kind = functions.find(entry => entry.path === canonical)?.kind;
  if (kind === undefined) throw new CommandFailure(`there is no function ${canonical} to watch`);
  if (kind === 'query' || kind === 'paginatedQuery') return;
  throw new CommandFailure(`--watch is for queries; ${canonical} is of the kind ${kind}`);
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
