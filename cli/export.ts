/**
 * `svc export --tenant T [--table NAME] [FILE|-]`: a tenant's documents as JSON lines, streaming, in constant memory.
 *
 * Without --table it reads the journal's bootstrap: all tables as they were at one moment. With --table it walks the pages of
 * that table: a document that existed throughout is there once, one that changed meanwhile as before or after.
 */
import {Buffer} from 'node:buffer';
import type {Readable} from 'node:stream';
import type {Command} from 'commander';
import {PAGE_DOCUMENTS_MAX} from '../shared/limits.ts';
import {addServerOptions, RefusedRequest, type ServerOptions, ServiceClient, tenantPath} from './client.ts';
import {CommandFailure, EXIT_INTERRUPTED, reportFailure} from './failure.ts';
import {BootstrapDocuments} from './transfer/bootstrap-documents.ts';
import {openOutput, ReaderGone} from './transfer/output.ts';
import {Progress, summary} from './transfer/progress.ts';

type Options = ServerOptions & {tenant: string; table?: string};
type Page = {data: unknown[]; next_cursor: string | null; has_more: boolean};
/** Lines that are written in one go. */
type Batch = {documents: number; bytes: Buffer};

export function register(program: Command): void {
  const command = program
    .command('export')
    .description('write documents as JSON lines')
    .argument('[file]', 'appears when it is complete; -: standard output', '-')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--table <name>', 'only this table, a document a line; otherwise each line is {"table": …, "document": …}');
  addServerOptions(command).action((file: string, options: Options) =>
    reportFailure('svc export', () => exportTo(file, options)),
  );
}

async function exportTo(file: string, options: Options): Promise<void> {
  const client = await ServiceClient.open(options, 1);
  try {
    const {tenant, table} = options;
    await client.request('GET', tenantPath(tenant, 'schema')); // says so if there is no such tenant, before a file is made
    const batches = table === undefined ? allTables(client, tenant) : oneTable(client, tenant, table);
    const written = await writeAll(batches, file);
    process.stderr.write(`exported ${written}\n`);
  } catch (caught) {
    if (!(caught instanceof ReaderGone)) throw caught;
  } finally {
    await client.close();
  }
}

async function writeAll(batches: AsyncIterable<Batch>, file: string): Promise<string> {
  const output = await openOutput(file);
  const progress = new Progress('export', null);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let documents = 0;
  let bytes = 0;
  try {
    for await (const batch of batches) {
      if (interrupted.signal.aborted) throw new CommandFailure('interrupted', EXIT_INTERRUPTED);
      await output.write(batch.bytes);
      documents += batch.documents;
      bytes += batch.bytes.length;
      progress.update(documents, bytes);
    }
    await output.finish();
  } catch (caught) {
    await output.abandon();
    throw caught;
  } finally {
    progress.stop();
  }
  return summary(documents, bytes, progress.seconds);
}

async function* allTables(client: ServiceClient, tenant: string): AsyncGenerator<Batch, void, void> {
  const payload = await client.stream(tenantPath(tenant, 'journal', 'bootstrap'));
  const scanner = new BootstrapDocuments();
  for await (const chunk of arriving(payload)) {
    const found = scanner.feed(chunk);
    if (found.length === 0) continue;
    const pieces = found.flatMap(({table, text}) => [
      Buffer.from(`{"table":${JSON.stringify(table)},"document":`),
      text,
      LINE_END_OF_PAIR,
    ]);
    yield {documents: found.length, bytes: Buffer.concat(pieces)};
  }
  if (!scanner.ended) throw new CommandFailure('the server ended its answer early; nothing is exported');
}

const LINE_END_OF_PAIR = Buffer.from('}\n');

async function* arriving(payload: Readable): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of payload) yield chunk as Buffer;
  } catch (caught) {
    throw new CommandFailure(`the connection failed: ${(caught as Error).message}; nothing is exported`, 1, {
      cause: caught,
    });
  }
}

async function* oneTable(client: ServiceClient, tenant: string, table: string): AsyncGenerator<Batch, void, void> {
  const path = `${tenantPath(tenant)}/query/paginated`;
  let pageSize = PAGE_DOCUMENTS_MAX;
  let after: string | null = null;
  for (;;) {
    const body = {query: {table, filters: []}, page_size: pageSize, ...(after === null ? {} : {after})};
    let page: Page;
    try {
      page = await client.json<Page>('POST', path, body);
    } catch (caught) {
      const isTooLarge = caught instanceof RefusedRequest && caught.code === 'op.too_large';
      if (!isTooLarge || pageSize === 1) throw caught;
      pageSize = Math.ceil(pageSize / 4); // documents of up to 1 MiB: fewer of them fit into a result
      continue;
    }
    const lines = page.data.map(document => `${JSON.stringify(document)}\n`);
    if (lines.length > 0) yield {documents: lines.length, bytes: Buffer.from(lines.join(''))};
    after = page.next_cursor;
    if (after === null) return;
  }
}
