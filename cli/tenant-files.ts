/**
 * `svc tenants export|import|clone`: a whole tenant as one file. A file that arrives is compared with its length and
 * digest before it gets its name; an upload is checked by the server before there is a tenant.
 */
import {createHash} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {stat} from 'node:fs/promises';
import type {Readable} from 'node:stream';
import type {Command} from 'commander';
import type {QueryOf} from '../shared/operation-types.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from './client.ts';
import {CommandFailure} from './failure.ts';
import {atServer} from './server-verb.ts';
import {openOutput} from './transfer/output.ts';
import {Progress} from './transfer/progress.ts';

const TYPE = 'application/vnd.sqlite3';
const MIB = 1024 * 1024;

type LiveOption = {live?: true};
type ImportOptions = ServerOptions & LiveOption & {as: string; replace?: true};

export function registerFiles(tenants: Command): void {
  addServerOptions(
    tenants
      .command('export <id>')
      .description('write a whole tenant as one SQLite file, while it goes on')
      .option('-o, --output <file>', 'appears when it is complete; otherwise <id>.sqlite'),
  ).action((id: string, options: ServerOptions & {output?: string}) =>
    atServer('tenants export', options, client => exportFile(client, id, options.output ?? `${id}.sqlite`)),
  );
  addServerOptions(
    tenants
      .command('import <file>')
      .description('make a tenant of a file that `svc tenants export` or `svc restore` wrote')
      .requiredOption('--as <id>', 'the tenant')
      .option('--replace', 'the tenant exists and is replaced; its directory is kept in set-aside/ for seven days')
      .option('--live', 'it runs at once; otherwise it is paused and answers reads until `svc tenants resume`'),
  ).action((file: string, options: ImportOptions) =>
    atServer('tenants import', options, client => importFile(client, file, options)),
  );
  addServerOptions(
    tenants
      .command('clone <id> <new>')
      .description('make a new tenant that is a copy of another one, while that one goes on')
      .option('--live', 'it runs at once; otherwise it is paused and answers reads until `svc tenants resume`'),
  ).action((id: string, made: string, options: ServerOptions & LiveOption) =>
    atServer('tenants clone', options, client => clone(client, id, made, options)),
  );
}

async function exportFile(client: ServiceClient, id: string, file: string): Promise<void> {
  const {body, headers} = await client.streamed('exports.file', [id], undefined, true);
  const bytes = Number(headers['x-svc-file-bytes']);
  const sha256 = String(headers['x-svc-file-sha256']);
  const output = await openOutput(file);
  try {
    for await (const chunk of complete(body, bytes, sha256)) await output.write(chunk);
    await output.finish();
  } catch (caught) {
    await output.abandon();
    throw caught;
  }
  if (file !== '-') process.stdout.write(`exported ${id} to ${file}, ${size(bytes)}\n`);
}

async function importFile(client: ServiceClient, file: string, options: ImportOptions): Promise<void> {
  const {size: bytes} = await stat(file).catch((caught: Error) => {
    throw new CommandFailure(`${file} cannot be read: ${caught.message}`);
  });
  const progress = new Progress('import', bytes, false);
  const open = (): Readable => counted(createReadStream(file), progress);
  await sent(client, options.as, open, options).finally(() => progress.stop());
  process.stdout.write(`imported ${file} as ${options.as}, ${size(bytes)}${stateAfter(options)}\n`);
}

async function clone(client: ServiceClient, id: string, made: string, options: LiveOption): Promise<void> {
  const query = {as: made, ...(options.live === true ? {live: 'true' as const} : {})};
  const {tenant} = await client.ask('tenants.clone', [id], {query, repeat: 'once'});
  process.stdout.write(`cloned ${id} as ${made}, ${size(tenant.disk_bytes)}${stateAfter(options)}\n`);
}

function stateAfter({live}: LiveOption): string {
  return live === true ? '' : '; it is paused and answers reads';
}

async function sent(
  client: ServiceClient,
  id: string,
  open: () => Readable,
  {replace, live}: LiveOption & {replace?: true},
): Promise<void> {
  const query: QueryOf<'tenants.import'> = {
    ...(replace === true ? {replace: 'true'} : {}),
    ...(live === true ? {live: 'true'} : {}),
  };
  const signal = new AbortController().signal;
  await client.upload('tenants.import', [id], query, open, {type: TYPE, once: true, signal});
}

/** @throws CommandFailure at the end, if the bytes are not those that the server announced */
async function* complete(body: Readable, bytes: number, sha256: string): AsyncGenerator<Buffer, void, void> {
  const hash = createHash('sha256');
  const progress = new Progress('export', bytes, false);
  let arrived = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      hash.update(chunk);
      arrived += chunk.length;
      progress.update(0, arrived);
      yield chunk;
    }
  } catch (caught) {
    throw new CommandFailure(`the connection failed: ${(caught as Error).message}; nothing is exported`);
  } finally {
    progress.stop();
  }
  if (arrived === bytes && hash.digest('hex') === sha256) return;
  throw new CommandFailure(`${arrived} of ${bytes} bytes arrived, or they changed on their way; nothing is exported`);
}

function counted(file: Readable, progress: Progress): Readable {
  let bytes = 0;
  return file.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    progress.update(0, bytes);
  });
}

function size(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
