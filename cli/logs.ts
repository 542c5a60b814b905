/** `svc logs` shows the newest executions of a tenant's functions, then every one as it finishes, until Ctrl-C. */
import {type Command, Option} from 'commander';
import {CONSOLE_LEVELS, type ConsoleLevel} from '../shared/console-levels.ts';
import {LOG_ENTRIES_KEEP} from '../shared/limits.ts';
import type {QueryOf} from '../shared/operation-types.ts';
import type {LogEntry} from '../shared/protocol/functions.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {count, followLines, linesOf, SeenLines} from './follow.ts';
import {moment} from './option-values.ts';
import {printableJson} from './printable.ts';
import {logText, treeText} from './project/log-text.ts';
import {addTargetOptions, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Search = {
  requestId?: string;
  path?: string;
  text?: string;
  level?: ConsoleLevel;
  failed?: true;
  since?: number;
  until?: number;
};
type Shown = {history: number; success?: true; jsonl?: true; follow: boolean} & Search;
type Options = TargetOptions & Shown & {request?: string};

export function register(program: Command): void {
  const command = program
    .command('logs')
    .description("show what a tenant's functions log, as they run")
    .addOption(new Option('--history <count>', 'finished executions to begin with').argParser(count).default(20))
    .option('--success', 'show executions that succeeded and logged nothing, too')
    .option('--jsonl', 'one execution per line, as JSON')
    .option('--no-follow', 'end after the history')
    .option('--request-id <id>', 'only the execution of this request; ends after it was shown')
    .option('--request <id>', 'the executions that this request led to, as a tree; ends after it was shown')
    .option('--path <path>', 'only executions of this function, as messages:send')
    .option('--text <text>', 'only executions with this text in path, error or lines')
    .addOption(new Option('--level <level>', 'only executions with such a line').choices([...CONSOLE_LEVELS]))
    .option('--failed', 'only executions that failed')
    .addOption(new Option('--since <time>', 'as 90s, 20m, 2h, 3d ago, or 2026-01-31T12:00:00Z').argParser(moment))
    .addOption(new Option('--until <time>', 'the same; shows earlier entries and ends').argParser(moment));
  addTargetOptions(command).action((options: Options) =>
    reportFailure('svc logs', () =>
      withTarget(options, async target => {
        const interrupted = new AbortController();
        process.once('SIGINT', () => interrupted.abort());
        const show = (text: string) => void process.stdout.write(text);
        if (options.request === undefined) await showLogs(target, options, show, interrupted.signal);
        else show(await requestText(target, options.request, options.jsonl === true, interrupted.signal));
      }),
    ),
  );
}

/**
 * Shows each entry once: following resumes where it was when the connection breaks or the tenant's process ends. @param
 * signal ends it. @throws CommandFailure if the server does not come back
 */
export async function showLogs(
  target: Target,
  {history, success, jsonl, follow, ...search}: Shown,
  show: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const seen = new SeenLines<LogEntry>(
    ({n, request_id: request}) => `${n} ${request}`,
    ({at, duration_ms: ms}) => at + ms,
  );
  const showEntry = (line: string) => {
    const text = jsonl === true ? printableJson(line) : logText(line, success === true);
    if (text !== null) show(`${text}\n`);
  };
  // Even without a history its newest entry is read, because it shows where the new ones begin.
  for await (const line of entries(target, Math.max(history, 1), false, search, signal)) {
    seen.begin(line);
    if (history > 0) showEntry(line);
  }
  // No future entry has an id that was already reported, or is before a time.
  if (!follow || search.requestId !== undefined || search.until !== undefined) return;
  const lines = () => entries(target, LOG_ENTRIES_KEEP, true, search, signal);
  await followLines(lines, line => seen.add(line) && showEntry(line), signal);
}

/** @param id a request id, or the id of a job. @throws CommandFailure if the log has no such execution */
export async function requestText(target: Target, id: string, isJsonl: boolean, signal: AbortSignal): Promise<string> {
  const read = async (search: QueryOf<'logs.read'>): Promise<LogEntry[]> => {
    const query = {history: LOG_ENTRIES_KEEP, follow: 'false', ...search} as const;
    const found: LogEntry[] = [];
    for await (const line of linesOf(target.client, 'logs.read', [target.tenant], query, signal))
      if (line !== '') found.push(JSON.parse(line) as LogEntry);
    return found;
  };
  let trace = await read({trace_id: id});
  // A job is part of the trace of the request that scheduled it.
  const of = trace.length === 0 ? (await read({request_id: id})).at(-1)?.trace_id : undefined;
  if (of !== undefined) trace = await read({trace_id: of});
  if (trace.length === 0) throw new CommandFailure(`the log has no execution of the request ${id}`);
  return `${isJsonl ? trace.map(entry => printableJson(JSON.stringify(entry))).join('\n') : treeText(trace)}\n`;
}

/** Ends with the connection. */
function entries(
  target: Target,
  history: number,
  follow: boolean,
  search: Search,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const query = {history, follow: `${follow}` as const, ...parameters(search)};
  return linesOf(target.client, 'logs.read', [target.tenant], query, signal);
}

function parameters({requestId, path, text, level, failed, since, until}: Search): QueryOf<'logs.read'> {
  return {
    ...(requestId === undefined ? {} : {request_id: requestId}),
    ...(path === undefined ? {} : {path}),
    ...(text === undefined ? {} : {text}),
    ...(level === undefined ? {} : {level}),
    ...(failed === undefined ? {} : {outcome: 'error'}),
    ...(since === undefined ? {} : {since: String(since)}),
    ...(until === undefined ? {} : {until: String(until)}),
  };
}
