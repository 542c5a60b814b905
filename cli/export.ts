/**
 * `svc export --tenant T [--table NAME] [--format csv] [FILE|-]` streams a tenant's documents at one version, in
 * constant memory, as JSON lines or, for one table, as CSV. The content is the answer of GET …/export.
 */
import type {Buffer} from 'node:buffer';
import type {Readable} from 'node:stream';
import {type Command, Option} from 'commander';
import type {QueryOf} from '../shared/operation-types.ts';
import {addServerOptions, type ServerOptions, ServiceClient} from './client.ts';
import {CommandFailure, EXIT_INTERRUPTED, reportFailure} from './failure.ts';
import {openOutput, ReaderGone} from './transfer/output.ts';
import {Progress, summary} from './transfer/progress.ts';

type Options = ServerOptions & {
  tenant: string;
  table?: string;
  format: 'jsonl' | 'csv';
  columns?: string;
  filter?: string;
  restorable?: true;
};

const LINE_FEED = 0x0a;
const QUOTE = 0x22;

export function register(program: Command): void {
  const command = program
    .command('export')
    .description('write documents as JSON lines or CSV')
    .argument('[file]', 'appears when it is complete; -: standard output', '-')
    .requiredOption('--tenant <id>', 'the tenant')
    .option(
      '--table <name>',
      'only this table, one document per line; otherwise each line is {"table": …, "document": …}',
    )
    .addOption(new Option('--format <format>', 'csv is of one table').choices(['jsonl', 'csv']).default('jsonl'))
    .option('--restorable', 'for `svc import --mode restore`: with schemas, each line names its table')
    .option(
      '--filter <json>',
      'only documents of the table that match, such as [{"field": "n", "op": "gt", "value": 1}]',
    )
    .option('--columns <names>', 'of CSV: fields with commas between them; otherwise all that there are');
  addServerOptions(command).action((file: string, options: Options) =>
    reportFailure('svc export', () => exportTo(file, options)),
  );
}

async function exportTo(file: string, options: Options): Promise<void> {
  const client = await ServiceClient.open(options, 1);
  try {
    const {tenant, table, format, columns, filter, restorable} = options;
    const query: QueryOf<'exports.run'> = {
      ...(table === undefined ? {} : {table}),
      ...(format === 'jsonl' ? {} : {format}),
      ...(columns === undefined ? {} : {columns}),
      ...(filter === undefined ? {} : {filters: filter}),
      ...(restorable === true ? {for: 'restore' as const} : {}),
    };
    const lines = await client.stream('exports.run', [tenant], query); // refused before a file is created
    const written = await writeAll(arriving(lines), file, format === 'csv' ? new CsvRecords() : new Lines());
    process.stderr.write(`exported ${written}\n`);
  } catch (caught) {
    if (!(caught instanceof ReaderGone)) throw caught;
  } finally {
    await client.close();
  }
}

async function writeAll(chunks: AsyncIterable<Buffer>, file: string, documents: Lines | CsvRecords): Promise<string> {
  const output = await openOutput(file);
  const progress = new Progress('export', null);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      if (interrupted.signal.aborted) throw new CommandFailure('interrupted', EXIT_INTERRUPTED);
      await output.write(chunk);
      documents.see(chunk);
      bytes += chunk.length;
      progress.update(documents.count, bytes);
    }
    await output.finish();
  } catch (caught) {
    await output.abandon();
    throw caught;
  } finally {
    progress.stop();
  }
  return summary(documents.count, bytes, progress.seconds);
}

async function* arriving(payload: Readable): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of payload) yield chunk as Buffer;
  } catch (caught) {
    throw new CommandFailure(`the connection failed: ${(caught as Error).message}; nothing is exported`, 1, {
      cause: caught,
    });
  }
}

class Lines {
  count = 0;

  see(chunk: Buffer): void {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) this.count += 1;
  }
}

/** Counts records without the header: a line that ends between quotes does not end a record. */
class CsvRecords {
  #ends = 0;
  #isQuoted = false;

  get count(): number {
    return Math.max(0, this.#ends - 1);
  }

  see(chunk: Buffer): void {
    for (const byte of chunk) {
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      else if (byte === LINE_FEED && !this.#isQuoted) this.#ends += 1;
    }
  }
}
