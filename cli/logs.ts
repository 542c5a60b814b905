/** `svc logs`: the newest executions of a tenant's functions, then every one as it finishes, until Ctrl-C. */
import {createInterface} from 'node:readline';
import {type Command, InvalidArgumentError, Option} from 'commander';
import {reportFailure} from './failure.ts';
import {logText} from './project/log-text.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {history: number; success?: true; jsonl?: true; follow: boolean};

export function register(program: Command): void {
  const command = program
    .command('logs')
    .description("show what a tenant's functions log, as they run")
    .addOption(new Option('--history <count>', 'finished executions to begin with').argParser(count).default(20))
    .option('--success', 'show executions that succeeded and logged nothing, too')
    .option('--jsonl', 'an execution a line, as JSON')
    .option('--no-follow', 'end after the history');
  addTargetOptions(command).action((options: Options) =>
    reportFailure('svc logs', () => withTarget(options, target => showLogs(target, options, process.stdout))),
  );
}

/** @param signal ends it */
export async function showLogs(
  target: Target,
  {history, success, jsonl, follow}: Pick<Options, 'history' | 'success' | 'jsonl' | 'follow'>,
  output: NodeJS.WritableStream,
  signal?: AbortSignal,
): Promise<void> {
  const lines = await target.client.stream(`${pathOf(target, 'logs')}?history=${history}&follow=${follow}`, true);
  const stop = () => void lines.destroy();
  process.once('SIGINT', stop);
  signal?.addEventListener('abort', stop);
  lines.on('error', () => undefined); // the end of it is told by the loop
  for await (const line of createInterface({input: lines, crlfDelay: Number.POSITIVE_INFINITY})) {
    if (line === '') continue;
    const text = jsonl === true ? line : logText(line, success === true);
    if (text !== null) output.write(`${text}\n`);
  }
  process.removeListener('SIGINT', stop);
}

function count(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
