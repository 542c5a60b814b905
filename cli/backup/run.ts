/**
 * `svc backup run` copies everything now, and ends once all of it is in the repository: the server does it, or this
 * process if the server of the data directory is stopped.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import type {Command} from 'commander';
import {ServiceError} from '../../shared/errors.ts';
import type {BackupRun} from '../../shared/protocol/backups.ts';
import {addServerOptions, RefusedRequest, type ServerOptions, ServiceClient} from '../client.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {TransientLine} from '../transient-line.ts';
import {reportRepositoryFailure} from './at-repository.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

type Options = ServerOptions & {to?: string; key?: string; json?: true};

export function registerRun(backup: Command): void {
  addServerOptions(
    backup
      .command('run')
      .description('copy everything now, and wait until it is in the repository; exit code 3: not all of it is')
      .option('--to <repository>', 'if the server is stopped: where the copies are (SVC_BACKUP_TO)')
      .option('--key <file>', 'if the server is stopped: the key of the repository (SVC_BACKUP_KEY)')
      .option('--json', 'as JSON'),
  ).action((options: Options) =>
    reportRepositoryFailure('svc backup run', async () => {
      const line = new TransientLine();
      line.show('copying');
      try {
        const done = (await stopped(options)) ?? (await served(options));
        line.clear();
        const text = `copied ${counted(done.tenants, 'tenant')} in ${Math.round(done.took_ms)} ms`;
        process.stdout.write(`${options.json === true ? printableJson(JSON.stringify(done)) : text}\n`);
      } finally {
        line.clear();
      }
    }),
  );
}

/** @returns null: a server is to do it */
async function stopped({data = './data', to, key}: Options): Promise<BackupRun | null> {
  const at = {to: to ?? process.env.SVC_BACKUP_TO, key: key ?? process.env.SVC_BACKUP_KEY};
  if (at.to === undefined || at.key === undefined) {
    if (to === undefined && key === undefined) return null;
    throw new CommandFailure('a stopped server needs --to and --key: where the copies are, and the key file', 2);
  }
  // Both can be in the environment of a command for another machine's server.
  if (to === undefined && !existsSync(join(data, 'registry.sqlite'))) return null;
  const {runStopped} = await import('./run-stopped.ts');
  const result = await runStopped({data, to: at.to, key: at.key}).catch((caught: unknown) => {
    throw caught instanceof ServiceError ? incomplete(caught.message, caught.detail ?? {}) : caught;
  });
  if (result === null || result.missing.size === 0) return result?.run ?? null;
  const names = [...result.missing.keys()].sort();
  const [first] = names;
  const what = `${counted(names.length, 'tenant')} cannot be copied: ${first}: ${result.missing.get(first!)}`;
  throw incomplete(what, {missing: names, missing_count: names.length});
}

async function served(options: Options): Promise<BackupRun> {
  const client = await ServiceClient.open(options, 1, 'to copy a stopped one, give --to and --key');
  try {
    // Not repeated: the server has waited for as long as is useful.
    return await client.ask('backup.run', [], {repeat: 'once'});
  } catch (caught) {
    throw caught instanceof RefusedRequest ? incomplete(caught.message, caught.detail, caught) : caught;
  } finally {
    await client.close();
  }
}

function incomplete(message: string, detail: Record<string, unknown>, cause?: Error): CommandFailure {
  const {missing, missing_count: count} = detail as {missing?: string[]; missing_count?: number | null};
  if (missing === undefined) return new CommandFailure(message, 1, {cause});
  const more = (count ?? 0) - missing.length;
  const names = missing.length === 0 ? '' : `\nmissing: ${missing.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return new CommandFailure(printable(`${message}${names}`), EXIT_PARTIAL, {cause});
}
