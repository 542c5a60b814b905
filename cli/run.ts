/** `svc run PATH [ARGS]`: calls any function, internal ones too, and prints what it returns. Log lines go to stderr. */
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, InvalidArgumentError, Option} from 'commander';
import type {FunctionReply} from '../shared/protocol/functions.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {push} from './project/push.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {identity?: object; push?: true; watch?: true};

/** How often the journal is looked at with --watch. */
const WATCH_INTERVAL_MS = 500;

export function register(program: Command): void {
  const command = program
    .command('run')
    .description('call a function and print what it returns as JSON')
    .argument('<path>', 'messages:list, or messages for a default export')
    .argument('[args]', 'its arguments, a JSON object', jsonObject, {})
    .addOption(new Option('--identity <json>', 'what ctx.auth.getUserIdentity() gives').argParser(jsonObject))
    .option('--push', 'deploy the project first')
    .option('--watch', 'of a query: print its result again whenever it changed');
  addTargetOptions(command).action((path: string, args: object, options: Options) =>
    reportFailure('svc run', () => run(path, args, options)),
  );
}

function run(path: string, args: object, options: Options): Promise<void> {
  return withTarget(options, async target => {
    const say = (text: string) => void process.stderr.write(`${text}\n`);
    if (options.push === true) await push(target, {typecheck: 'try', message: null, dryRun: false}, say);
    if (options.watch !== true) await callAndPrint(target, path, args, options.identity);
    else await watch(target, path, args, options.identity);
  });
}

async function callAndPrint(target: Target, path: string, args: object, identity: object | undefined): Promise<string> {
  const body = {path, args, ...(identity === undefined ? {} : {identity})};
  const reply = await target.client.jsonOnce<FunctionReply>('POST', pathOf(target, 'functions', 'run'), body);
  for (const line of reply.logLines ?? []) process.stderr.write(`${line}\n`);
  if (reply.status === 'error') throw new CommandFailure(reply.errorMessage.trimEnd());
  const text = JSON.stringify(reply.value, null, 2);
  process.stdout.write(`${text}\n`);
  return text;
}

/** Only a write can change the result of a query, and every write is in the journal. */
async function watch(target: Target, path: string, args: object, identity: object | undefined): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let seen = -1;
  while (!interrupted.signal.aborted) {
    const {latest_sequence: latest} = await target.client.json<{latest_sequence: number}>(
      'GET',
      `${pathOf(target, 'journal')}?limit=1`,
    );
    if (latest !== seen) await callAndPrint(target, path, args, identity);
    seen = latest;
    await delay(WATCH_INTERVAL_MS, undefined, {signal: interrupted.signal}).catch(() => undefined);
  }
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
