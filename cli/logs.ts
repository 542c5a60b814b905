/** `svc logs`: the newest executions of a tenant's functions, then every one as it finishes, until Ctrl-C. */
import {createInterface} from 'node:readline';
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, InvalidArgumentError, Option} from 'commander';
import {COMMAND_ATTEMPTS_MAX, COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, LOG_ENTRIES_KEEP} from '../shared/limits.ts';
import type {LogEntry} from '../shared/protocol/functions.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {logText} from './project/log-text.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Shown = {history: number; success?: true; jsonl?: true; follow: boolean};
type Options = TargetOptions & Shown;

export function register(program: Command): void {
  const command = program
    .command('logs')
    .description("show what a tenant's functions log, as they run")
    .addOption(new Option('--history <count>', 'finished executions to begin with').argParser(count).default(20))
    .option('--success', 'show executions that succeeded and logged nothing, too')
    .option('--jsonl', 'an execution a line, as JSON')
    .option('--no-follow', 'end after the history');
  addTargetOptions(command).action((options: Options) =>
    reportFailure('svc logs', () =>
      withTarget(options, async target => {
        const interrupted = new AbortController();
        process.once('SIGINT', () => interrupted.abort());
        await showLogs(target, options, text => void process.stdout.write(text), interrupted.signal);
      }),
    ),
  );
}

/**
 * Goes on where it was when the connection breaks or the tenant's process ends.
 * @param signal ends it. @throws CommandFailure when the server does not come back
 */
export async function showLogs(
  target: Target,
  {history, success, jsonl, follow}: Shown,
  show: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const seen = new SeenEntries();
  let wanted = history;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const line of entries(target, wanted, follow, signal)) {
        failures = 0;
        wanted = LOG_ENTRIES_KEEP; // from now on whatever may have been missed
        if (line === '' || seen.has(line)) continue;
        const text = jsonl === true ? line : logText(line, success === true);
        if (text !== null) show(`${text}\n`);
      }
      if (!follow) return;
    } catch (caught) {
      const isFinal = caught instanceof RefusedRequest && caught.status !== 503;
      if (!follow || isFinal || !(caught instanceof CommandFailure) || failures + 1 === COMMAND_ATTEMPTS_MAX)
        throw caught;
    }
    failures += 1;
    await delay(Math.min(COMMAND_RETRY_MS * 2 ** failures, COMMAND_RETRY_MS_MAX), undefined, {signal}).catch(
      () => undefined,
    );
  }
}

/** Ends with the connection. */
async function* entries(target: Target, history: number, follow: boolean, signal: AbortSignal): AsyncGenerator<string> {
  const answer = await target.client.stream(`${pathOf(target, 'logs')}?history=${history}&follow=${follow}`, true);
  const stop = () => void answer.destroy();
  signal.addEventListener('abort', stop);
  let failure: Error | null = null;
  answer.on('error', error => {
    failure = error;
  });
  try {
    if (signal.aborted) stop();
    yield* createInterface({input: answer, crlfDelay: Number.POSITIVE_INFINITY});
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
  if (failure === null || signal.aborted) return;
  throw new CommandFailure(`the log broke off: ${(failure as Error).message}`, 1, {cause: failure});
}

/** What a second connection would tell again. */
class SeenEntries {
  readonly #keys = new Set<string>();

  /** From now on it has. */
  has(line: string): boolean {
    const {n, request_id: requestId} = JSON.parse(line) as LogEntry;
    const key = `${n} ${requestId}`;
    if (this.#keys.has(key)) return true;
    this.#keys.add(key);
    if (this.#keys.size > LOG_ENTRIES_KEEP) this.#keys.delete(this.#keys.values().next().value!);
    return false;
  }
}

function count(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
