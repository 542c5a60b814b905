/**
 * `svc export --tenant T [--table NAME] [FILE|-]`: a tenant's documents as JSON lines, as they were at one moment, streaming, in
 * constant memory. They are what GET …/export says.
 */
import type {Buffer} from 'node:buffer';
import type {Readable} from 'node:stream';
import type {Command} from 'commander';
import {addServerOptions, type ServerOptions, ServiceClient, tenantPath} from './client.ts';
import {CommandFailure, EXIT_INTERRUPTED, reportFailure} from './failure.ts';
import {openOutput, ReaderGone} from './transfer/output.ts';
import {Progress, summary} from './transfer/progress.ts';

type Options = ServerOptions & {tenant: string; table?: string};

const LINE_FEED = 0x0a;

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
    const query = table === undefined ? '' : `?${new URLSearchParams({table})}`;
    const lines = await client.stream(`${tenantPath(tenant, 'export')}${query}`); // refused before a file is made
    const written = await writeAll(arriving(lines), file);
    process.stderr.write(`exported ${written}\n`);
  } catch (caught) {
    if (!(caught instanceof ReaderGone)) throw caught;
  } finally {
    await client.close();
  }
}

async function writeAll(pieces: AsyncIterable<Buffer>, file: string): Promise<string> {
  const output = await openOutput(file);
  const progress = new Progress('export', null);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let documents = 0;
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      if (interrupted.signal.aborted) throw new CommandFailure('interrupted', EXIT_INTERRUPTED);
      await output.write(piece);
      documents += linesIn(piece);
      bytes += piece.length;
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

async function* arriving(payload: Readable): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of payload) yield chunk as Buffer;
  } catch (caught) {
    throw new CommandFailure(`the connection failed: ${(caught as Error).message}; nothing is exported`, 1, {
      cause: caught,
    });
  }
}

function linesIn(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}
