/** `svc logs`: the newest executions of a tenant's functions, then every one as it finishes, until Ctrl-C. */
import {createInterface} from 'node:readline';
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, InvalidArgumentError, Option} from 'commander';
import {COMMAND_ATTEMPTS_MAX, COMMAND_RETRY_MS, COMMAND_RETRY_MS_MAX, LOG_ENTRIES_KEEP} from '../shared/limits.ts';
import type {LogEntry} from '../shared/protocol/functions.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printableJson} from './printable.ts';
import {logText} from './project/log-text.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Search = {requestId?: string; path?: string; failed?: true; since?: number; until?: number};
type Shown = {history: number; success?: true; jsonl?: true; follow: boolean} & Search;
type Options = TargetOptions & Shown;

export function register(program: Command): void {
  const command = program
    .command('logs')
    .description("show what a tenant's functions log, as they run")
    .addOption(new Option('--history <count>', 'finished executions to begin with').argParser(count).default(20))
    .option('--success', 'show executions that succeeded and logged nothing, too')
    .option('--jsonl', 'an execution a line, as JSON')
    .option('--no-follow', 'end after the history')
    .option('--request-id <id>', 'only that of a failure somebody reports; ends after it was shown')
    .option('--path <path>', 'only executions of this function, as messages:send')
    .option('--failed', 'only executions that failed')
    .addOption(new Option('--since <time>', 'as 90s, 20m, 2h, 3d ago, or 2026-01-31T12:00:00Z').argParser(moment))
    .addOption(new Option('--until <time>', 'the same; ends after what was before').argParser(moment));
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
 * What is shown once is not shown again: following goes on where it was when the connection breaks or the tenant's process
 * ends. @param signal ends it. @throws CommandFailure when the server does not come back
 */
export async function showLogs(
  target: Target,
  {history, success, jsonl, follow, ...search}: Shown,
  show: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const seen = new SeenEntries();
  const showEntry = (line: string) => {
    const text = jsonl === true ? printableJson(line) : logText(line, success === true);
    if (text !== null) show(`${text}\n`);
  };
  // Also without a history its newest entry is looked at: it says where the new ones begin.
  for await (const line of entries(target, Math.max(history, 1), false, search, signal)) {
    seen.begin(line);
    if (history > 0) showEntry(line);
  }
  // Nothing that is still to come has an id that was reported, or is before a time.
  if (!follow || search.requestId !== undefined || search.until !== undefined) return;
  await followLog(target, search, line => seen.add(line) && showEntry(line), signal);
}

async function followLog(
  target: Target,
  search: Search,
  onEntry: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      for await (const line of entries(target, LOG_ENTRIES_KEEP, true, search, signal)) {
        failures = 0;
        if (line !== '') onEntry(line);
      }
    } catch (caught) {
      const isFinal = caught instanceof RefusedRequest && caught.status !== 503;
      if (signal.aborted) return;
      if (isFinal || !(caught instanceof CommandFailure) || failures >= COMMAND_ATTEMPTS_MAX) throw caught;
    }
    const pause = Math.min(COMMAND_RETRY_MS * 2 ** failures, COMMAND_RETRY_MS_MAX);
    await delay(pause, undefined, {signal}).catch(() => undefined);
  }
}

/** Ends with the connection. */
async function* entries(
  target: Target,
  history: number,
  follow: boolean,
  search: Search,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const query = new URLSearchParams({history: String(history), follow: String(follow), ...parameters(search)});
  const answer = await target.client.stream(`${pathOf(target, 'logs')}?${query}`, true);
  const stop = () => void answer.destroy();
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) stop();
    yield* createInterface({input: answer, crlfDelay: Number.POSITIVE_INFINITY});
  } catch (caught) {
    if (signal.aborted) return;
    throw new CommandFailure(`the log broke off: ${(caught as Error).message}`, 1, {cause: caught});
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Tells what a connection repeats, and what was there before the first one, from what is new. */
class SeenEntries {
  readonly #keys = new Set<string>();
  #beginMs = Number.NEGATIVE_INFINITY;

  /** The history before what is followed, in order. */
  begin(line: string): void {
    this.add(line);
    this.#beginMs = endMs(JSON.parse(line) as LogEntry);
  }

  /** @returns false when it was there already */
  add(line: string): boolean {
    const entry = JSON.parse(line) as LogEntry;
    // Numbers begin again with the tenant's process.
    const key = `${entry.n} ${entry.request_id}`;
    if (this.#keys.has(key) || endMs(entry) < this.#beginMs) return false;
    this.#keys.add(key);
    if (this.#keys.size > LOG_ENTRIES_KEEP) this.#keys.delete(this.#keys.values().next().value!);
    return true;
  }
}

function endMs({at, duration_ms: durationMs}: LogEntry): number {
  return at + durationMs;
}

function parameters({requestId, path, failed, since, until}: Search): Record<string, string> {
  return {
    ...(requestId === undefined ? {} : {request_id: requestId}),
    ...(path === undefined ? {} : {path}),
    ...(failed === undefined ? {} : {outcome: 'error'}),
    ...(since === undefined ? {} : {since: String(since)}),
    ...(until === undefined ? {} : {until: String(until)}),
  };
}

const AGO_UNITS_MS = {s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;

/** Epoch milliseconds. */
function moment(text: string): number {
  const ago = /^(\d{1,9})([smhd])$/.exec(text);
  const ms =
    ago === null ? Date.parse(text) : Date.now() - Number(ago[1]) * AGO_UNITS_MS[ago[2] as keyof typeof AGO_UNITS_MS];
  if (Number.isFinite(ms)) return Math.max(0, Math.floor(ms));
  throw new InvalidArgumentError('It must be like 90s, 20m, 2h or 3d, which is so long ago, or 2026-01-31T12:00:00Z.');
}

function count(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
