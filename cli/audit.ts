/** `svc audit` shows operators' actions, `svc audit verify` proves that the log is complete. */
import {hash} from 'node:crypto';
import type {Command} from 'commander';
import {AUDIT_PAGE_RECORDS_MAX} from '../shared/limits.ts';
import type {AuditPage, AuditRecord, RefusalPage} from '../shared/protocol/audit.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {CommandFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {atServer} from './server-verb.ts';

type LogOptions = ServerOptions & {refused?: true};
type ShowOptions = LogOptions & {history: string; json?: true};
type Page = AuditPage | RefusalPage;
type Shown = Page['records'][number];
/** Reads a page of one of the two logs. */
type Reader = (after: number, limit: number) => Promise<Page>;
type Outcome = Extract<AuditRecord, {kind: 'outcome'}>;

export function register(program: Command): void {
  const audit = addServerOptions(
    program
      .command('audit')
      .description("show operators' actions, newest last")
      .option('--history <n>', 'number of newest actions', '100')
      .option('--refused', 'requests refused for lack of rights, instead of actions')
      .option('--json', 'the stored records, one per line'),
  ).action((options: ShowOptions) => report('audit', options, read => show(read, options)));
  addServerOptions(
    audit
      .command('verify')
      .description('verify that no record was changed or removed')
      .option('--expect <sequence:digest>', 'a head noted earlier, which the log must still contain'),
  ).action((_: object, command: Command) => {
    const options = command.optsWithGlobals<LogOptions & {expect?: string}>();
    return report('audit verify', options, read => verify(read, options.expect));
  });
}

function report(verb: string, options: LogOptions, act: (read: Reader) => Promise<void>): Promise<void> {
  const operation = options.refused === true ? 'audit.refusals' : 'audit.page';
  return atServer(verb, options, client => act((after, limit) => client.ask(operation, [], {query: {after, limit}})));
}

async function show(read: Reader, {history, json}: ShowOptions): Promise<void> {
  if (!/^\d{1,9}$/.test(history)) throw new CommandFailure('--history must be a number', 2);
  const records = await newestActions(read, Number(history));
  const outcomes = new Map(records.filter(isOutcome).map(outcome => [outcome.of, outcome]));
  for (const record of records) {
    if (json === true) process.stdout.write(`${printableJson(JSON.stringify(record))}\n`);
    else if (record.kind !== 'outcome') process.stdout.write(`${printable(lineOf(record, outcomes))}\n`);
  }
}

/**
 * The newest `count` actions, with every record since the oldest of them: an action has a record, and its outcome a
 * later one.
 */
async function newestActions(read: Reader, count: number): Promise<Shown[]> {
  if (count === 0) return [];
  const {latest_sequence: latest} = await read(0, 1);
  for (let back = 2 * count; ; back *= 2) {
    const from = Math.max(0, latest - back);
    const records: Shown[] = [];
    for await (const {records: more} of pages(read, from)) records.push(...more);
    const actions = records.filter(record => !isOutcome(record));
    if (from > 0 && actions.length < count) continue;
    const oldest = actions.at(-count);
    return oldest === undefined ? records : records.slice(records.indexOf(oldest));
  }
}

async function verify(read: Reader, expected: string | undefined): Promise<void> {
  let previous: string | null = null;
  let sequence = 0;
  let count = 0;
  let isExpectedThere = expected === undefined;
  for await (const page of pages(read, 0)) {
    previous ??= page.previous_sha256;
    sequence ||= page.cursor_floor - 1;
    if (page.previous_sha256 !== previous) throw broken(sequence, 'is not the one that the next page goes on from');
    for (const {integrity_sha256: digest, ...record} of page.records) {
      if (record.sequence !== sequence + 1) throw broken(sequence + 1, 'is missing');
      sequence = record.sequence;
      if (hash('sha256', `${previous}\n${JSON.stringify(record)}`, 'hex') !== digest)
        throw broken(sequence, 'was changed');
      previous = digest;
      count++;
      if (expected === `${sequence}:${digest}`) isExpectedThere = true;
    }
    if (!page.has_more && sequence !== page.latest_sequence) throw broken(sequence + 1, 'is missing');
  }
  if (!isExpectedThere)
    throw new CommandFailure(`the log does not have ${expected}: it was cut, or replaced, or that is too old`);
  process.stdout.write(`${count} records, all is well; the head is ${sequence}:${previous}\n`);
}

async function* pages(read: Reader, from: number): AsyncGenerator<Page> {
  for (let after = from; ; ) {
    const page = await read(after, AUDIT_PAGE_RECORDS_MAX);
    yield page;
    if (!page.has_more) return;
    after = page.next_cursor;
  }
}

function isOutcome(record: Shown): record is Outcome {
  return record.kind === 'outcome';
}

function lineOf(record: Exclude<Shown, Outcome>, outcomes: ReadonlyMap<number, Outcome>): string {
  const at = new Date(record.at).toISOString();
  if (record.kind === 'begun') return `${at}  the log begins: ${record.reason}`;
  if (record.kind === 'refused') return refusedLine(at, record);
  const {sequence, operation, tenant, subject, key_name: by, key, address} = record;
  const what = Object.entries(subject).map(([name, value]) => `${name}=${value}`);
  const who = key === null ? by : `${by} (${key})`;
  return [
    at,
    operation,
    tenant ?? '-',
    ...what,
    `by ${who}`,
    `from ${address}`,
    outcomeText(outcomes.get(sequence)),
  ].join('  ');
}

function refusedLine(at: string, record: Extract<Shown, {kind: 'refused'}>): string {
  const {operation, tenant, code, key, key_name: by, shown, address, count} = record;
  const who = key === null ? (shown === null ? 'no credential' : `an unknown credential (${shown})`) : `${by} (${key})`;
  const often = count === 1 ? [] : [`${count} more`];
  return [at, operation ?? '-', tenant ?? '-', `by ${who}`, `from ${address}`, code, ...often].join('  ');
}

function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'outcome unknown';
  const {status, code} = outcome;
  return status === null ? (code ?? 'the client had disconnected') : [status, code ?? ''].join(' ').trim();
}

function broken(sequence: number, what: string): CommandFailure {
  return new CommandFailure(`the audit log is not whole: record ${sequence} ${what}`);
}
