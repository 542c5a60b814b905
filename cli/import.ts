/**
 * `svc import --tenant T [--table NAME] FILE|-` streams JSON lines or CSV into a tenant, in their order. After an
 * interruption or a failure at any point it can simply be run again: see transfer/import-run.ts and
 * transfer/csv-run.ts.
 *
 * Exit codes: 0 every line is imported (or counted as bad with --skip-bad); 1 it stopped; 2 wrong usage; 130 Ctrl-C.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {realpath, stat} from 'node:fs/promises';
import {addAbortSignal, type Readable} from 'node:stream';
import {type Command, Option} from 'commander';
import {BULK_ERRORS_SHOWN} from '../shared/limits.ts';
import type {CellRule, ImportMode} from '../shared/protocol/imports.ts';
import {addServerOptions, RefusedRequest, type ServerOptions, ServiceClient} from './client.ts';
import {CommandFailure, EXIT_INTERRUPTED, reportFailure} from './failure.ts';
import {IMPORT_REQUEST_BYTES} from './limits.ts';
import {type CsvSource, importCsv} from './transfer/csv-run.ts';
import {noteLines, seenLines} from './transfer/import-notes.ts';
import {type ImportEnd, type ImportObserver, importLines, importOf} from './transfer/import-run.ts';
import {Progress, summary} from './transfer/progress.ts';

type Options = ServerOptions & {
  tenant: string;
  table?: string;
  createTenant?: true;
  skipBad?: true;
  importId?: string;
  mode: ImportMode;
  format?: 'jsonl' | 'csv';
  cells?: CellRule;
};

/** This much of a pipe's content identifies the import. */
const IDENTITY_BYTES = 64 * 1024;

export function register(program: Command): void {
  const command = program
    .command('import')
    .description('insert documents from JSON lines or CSV')
    .argument('<file>', 'one JSON object a line, or CSV with a header; -: standard input')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--table <name>', 'lines are documents of this table; otherwise each line is {"table": …, "document": …}')
    .addOption(
      new Option(
        '--mode <mode>',
        'restore: an export as it was; own_ids, upsert: under the _id of each line, see docs/bulk.md',
      )
        .choices(['insert', 'own_ids', 'upsert', 'restore'])
        .default('insert'),
    )
    .addOption(
      new Option('--format <format>', 'of a file .csv it is csv, of any other jsonl').choices(['jsonl', 'csv']),
    )
    .addOption(
      new Option(
        '--cells <rule>',
        "of CSV: schema: text, unless the table's schema says otherwise; json: a cell that is JSON is that, as svc export writes it (default: schema)",
      ).choices(['schema', 'json']),
    )
    .option('--create-tenant', 'make the tenant if it does not exist')
    .option('--skip-bad', 'go on after a line that the server refuses, and count it')
    // Formerly the number of requests in flight. Lines are now imported in order, and the value is ignored.
    .addOption(new Option('--in-flight <count>', 'without effect').hideHelp())
    .option('--import-id <text>', 'imports with different ids are different documents, even from the same file');
  addServerOptions(command).action((file: string, options: Options) =>
    reportFailure('svc import', () => importFile(file, options)),
  );
}

async function importFile(file: string, options: Options): Promise<void> {
  const csv = csvOf(file, options);
  const client = await ServiceClient.open(options, 1);
  try {
    const interrupted = interruption();
    if (options.createTenant === true) await client.createTenant(options.tenant);
    const input = await openInput(file);
    // A pending read (of a terminal, for example) must not delay a Ctrl-C.
    addAbortSignal(interrupted, input.stream);
    const {source, chunks} = await identified(file, chunksOf(file, input.stream, interrupted), options.importId);
    const {tenant, table = null, mode} = options;
    // Imports of earlier versions, which had a single mode, can be continued.
    const how = csv === null ? [] : ['csv', csv.cells];
    const importId = `svc-import-${digestOf([source, tenant, table, ...(mode === 'insert' ? [] : [mode]), ...how])}`;
    const known = {client, tenant, importId};
    await checkTenant(known);
    const note = digestOf([client.url, importId]);
    const progress = new Progress('import', input.bytes);
    const observer: ImportObserver = {
      moved: ({imported, bytes}) => progress.update(imported, bytes),
      badLine: badLinePrinter(file),
    };
    const target = {...known, table, mode, skipBad: options.skipBad === true, seen: seenLines(note)};
    const imported =
      csv === null
        ? importLines(chunks, target, observer, interrupted)
        : importCsv(csvSource(file, chunks), {...target, ...csv}, observer, interrupted);
    const end = await imported.finally(() => {
      input.stream.destroy();
      progress.stop();
    });
    noteSeen(note, end);
    process.stdout.write(`imported ${summary(end.imported, end.bytes, progress.seconds)}${asides(end)}\n`);
    finish(file, end, interrupted.aborted);
  } finally {
    await client.close();
  }
}

type Csv = {table: string; cells: CellRule};

/** Null: JSON lines. @throws on wrong usage */
function csvOf(file: string, {format, cells, table}: Options): Csv | null {
  const isCsv = format === undefined ? /\.csv$/i.test(file) : format === 'csv';
  if (!isCsv && cells !== undefined) throw new CommandFailure('--cells is of CSV: --format csv', 2);
  if (!isCsv) return null;
  if (table === undefined) throw new CommandFailure('CSV is of one table: name it with --table', 2);
  return {table, cells: cells ?? 'schema'};
}

function csvSource(file: string, pipe: AsyncIterable<Buffer>): CsvSource {
  if (file === '-') return {file: null, open: () => pipe};
  return {file, open: () => createReadStream(file)};
}

function noteSeen(note: string, {seen}: ImportEnd): void {
  if (seen === null) return;
  try {
    noteLines(note, seen);
  } catch (caught) {
    const {message} = caught as Error;
    process.stderr.write(
      `the progress of the import cannot be stored (${message}): a later run will not notice changes to these lines\n`,
    );
  }
}

function finish(file: string, {stoppedBy}: ImportEnd, wasInterrupted: boolean): void {
  const again = 'run the same command again within 24 hours: no line is imported twice';
  if (stoppedBy !== null) {
    const {line, message, isBadLine} = stoppedBy;
    const advice = isBadLine ? `correct the line or give --skip-bad, then ${again}` : again;
    throw new CommandFailure(`${place(file, line)}: ${message}; ${advice}`);
  }
  if (wasInterrupted) throw new CommandFailure(`interrupted; ${again}`, EXIT_INTERRUPTED);
}

async function openInput(file: string): Promise<{stream: Readable; bytes: number | null}> {
  if (file === '-') return {stream: process.stdin, bytes: null};
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error('it is a directory');
    return {
      stream: createReadStream(file, {highWaterMark: IMPORT_REQUEST_BYTES}),
      bytes: found.isFile() ? found.size : null,
    };
  } catch (caught) {
    throw cannotRead(file, caught as Error);
  }
}

/** Ends quietly if the user interrupts; any other premature end is a failure. */
async function* chunksOf(file: string, stream: Readable, interrupted: AbortSignal): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (caught) {
    if (!interrupted.aborted) throw cannotRead(file, caught as Error);
  }
}

function cannotRead(file: string, cause: Error): CommandFailure {
  return new CommandFailure(`cannot read ${file}: ${cause.message}`, 1, {cause});
}

/** Runs before any input is read. @throws if the tenant does not exist, or the credential has no access to it */
async function checkTenant(target: Parameters<typeof importOf>[0]): Promise<void> {
  try {
    await importOf(target);
  } catch (caught) {
    if (!(caught instanceof RefusedRequest && caught.code === 'session.tenant_not_found')) throw caught;
    throw new CommandFailure(`there is no tenant ${target.tenant}; --create-tenant makes it`, 1, {cause: caught});
  }
}

/**
 * Identifies the import across runs: the name that the user gave it, the file's path (the lines after the imported ones
 * can be corrected between two runs), or the beginning of a pipe's content.
 */
async function identified(
  file: string,
  chunks: AsyncIterable<Buffer>,
  given: string | undefined,
): Promise<{source: string; chunks: AsyncIterable<Buffer>}> {
  if (given !== undefined) return {source: `named ${given}`, chunks};
  if (file !== '-') return {source: `file ${await realpath(file)}`, chunks};
  const rest = chunks[Symbol.asyncIterator]();
  const head: Buffer[] = [];
  const digest = createHash('sha256');
  for (let length = 0; length < IDENTITY_BYTES; ) {
    const {done, value} = await rest.next();
    if (done === true) break;
    head.push(value);
    digest.update(value.subarray(0, IDENTITY_BYTES - length));
    length += value.length;
  }
  return {source: `content ${digest.digest('hex')}`, chunks: chained(head, rest)};
}

async function* chained(head: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  yield* head.splice(0);
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** The first Ctrl-C ends the import cleanly, the second one at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
}

/** The server describes no further bad lines. */
function badLinePrinter(file: string): (line: number, message: string) => void {
  let shown = 0;
  return (line, message) => {
    shown += 1;
    process.stderr.write(`${place(file, line)}: ${message}\n`);
    if (shown === BULK_ERRORS_SHOWN) process.stderr.write('further bad lines are only counted\n');
  };
}

function asides({existing, bad}: ImportEnd): string {
  const earlier = existing === 0 ? '' : `; ${existing} of them had been imported earlier`;
  return `${earlier}${bad === 0 ? '' : `; ${bad} bad lines skipped`}`;
}

function place(file: string, line: number): string {
  return `${file === '-' ? 'standard input' : file}:${line}`;
}

function digestOf(parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
