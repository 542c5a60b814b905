/** `svc journal` shows records of a tenant's journal: the newest ones, or those that concern a document or a table. */
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, Option} from 'commander';
import {JOURNAL_KINDS, type JournalKind} from '../shared/journal-kinds.ts';
import type {JournalCause, JournalRecord} from '../shared/protocol/journal.ts';
import type {JournalCounts} from '../shared/protocol/journal-counts.ts';
import {showList} from './control.ts';
import {reportFailure} from './failure.ts';
import {count} from './follow.ts';
import {COUNTS_PAUSE_MS, COUNTS_STALLED_MAX} from './limits.ts';
import {moment} from './option-values.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Filter = {table?: string; document?: string; kind?: JournalKind; request?: string; from?: number; to?: number};
type Options = TargetOptions & Filter & {limit: number; order: 'asc' | 'desc'; counts?: true; json?: true};

export function register(program: Command): void {
  const command = program
    .command('journal')
    .description('show the newest records of the journal, or those that concern a document or a table')
    .option('--table <name>', 'only records that concern this table')
    .option('--document <id>', 'only records that write this document: its history')
    .addOption(new Option('--kind <kind>', 'only records with such a change').choices([...JOURNAL_KINDS]))
    .option('--request <id>', 'only records that this request, job or cron caused')
    .addOption(new Option('--from <time>', 'as 90s, 20m, 2h, 3d ago, or 2026-01-31T12:00:00Z').argParser(moment))
    .addOption(new Option('--to <time>', 'the same').argParser(moment))
    .addOption(new Option('--order <order>', 'desc: the newest first').choices(['asc', 'desc']).default('desc'))
    .addOption(new Option('--limit <count>', 'records at most').argParser(count).default(20))
    .option('--counts', 'records by time and kind instead, with --from and --to')
    .option('--json', 'one record per line, as JSON');
  addTargetOptions(command).action((options: Options) =>
    reportFailure('svc journal', () =>
      withTarget(options, async target => {
        if (options.counts === true) return showList(await buckets(target, options), options.json === true, bucketText);
        return showList(await records(target, options), options.json === true, recordText);
      }),
    ),
  );
}

async function records(
  target: Target,
  {table, document, kind, request, from, to, order, limit}: Options,
): Promise<JournalRecord[]> {
  const filter = {
    order,
    ...(table === undefined ? {} : {table}),
    ...(document === undefined ? {} : {document}),
    ...(kind === undefined ? {} : {kind}),
    ...(request === undefined ? {} : {request_id: request}),
    ...(from === undefined ? {} : {from}),
    ...(to === undefined ? {} : {to}),
  };
  const found: JournalRecord[] = [];
  for (let cursor: number | null = null; found.length < limit; ) {
    const at: {after?: number; before?: number} =
      cursor === null ? {} : order === 'asc' ? {after: cursor} : {before: cursor};
    const page = await ask(target, 'journal.page', [], {query: {...filter, ...at, limit: limit - found.length}});
    found.push(...page.records);
    if (!page.has_more) break;
    cursor = page.next_cursor;
  }
  return found;
}

type Bucket = JournalCounts['buckets'][number];

/** Counts until the server has read all of the range, or has no memory for more of it. */
async function buckets(target: Target, {from, to}: Options): Promise<Bucket[]> {
  const query = {buckets: 24, ...(from === undefined ? {} : {from}), ...(to === undefined ? {} : {to})};
  for (let before = Number.POSITIVE_INFINITY, stalled = 0; ; ) {
    const counts = await ask(target, 'journal.counts', [], {query});
    stalled = counts.counted_from < before ? 0 : stalled + 1;
    before = counts.counted_from;
    if (counts.complete || stalled === COUNTS_STALLED_MAX) return counts.buckets;
    await delay(COUNTS_PAUSE_MS);
  }
}

/** `2026-01-31T12:00:00.000Z  120  insert 100, update 20` */
function bucketText({at, records: all, kinds}: Bucket): string {
  const byKind = Object.entries(kinds).map(([kind, number]) => `${kind} ${number}`);
  return `${new Date(at).toISOString()}  ${all}  ${byKind.join(', ')}`;
}

function recordText({sequence, timestamp, events, scheduled_execution_id: run, cause}: JournalRecord): string {
  const what = events.map(event => {
    const {type, table, id} = event as {type: string; table?: string; id?: string};
    return [type, table, id].filter(part => part !== undefined).join(' ');
  });
  const shown = what.length > 5 ? [...what.slice(0, 5), `and ${what.length - 5} more`] : what;
  const by = cause === undefined ? (run ?? 'unknown') : causeText(cause);
  return `${sequence}  ${new Date(timestamp).toISOString()}  ${shown.join(', ')}  by ${by}`;
}

/** `function messages:send request 0a1b-2 key k3m9x2abcdef` */
function causeText({kind, ...members}: JournalCause): string {
  const named = Object.entries(members).map(([member, value]) => `${member.replace('_id', '')} ${value}`);
  return [kind, ...named.map(text => (text.startsWith(`${kind} `) ? text.slice(kind.length + 1) : text))].join(' ');
}
