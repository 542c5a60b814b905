/**
 * `svc backup expire` drops the points of a repository that a policy does not keep, and removes the objects that nothing
 * needs any more. It writes, so no server may be writing to the repository.
 */
import {randomBytes} from 'node:crypto';
import {hostname, tmpdir} from 'node:os';
import {type Command, InvalidArgumentError} from 'commander';
import {type Expired, expire} from '../../copies/repository/expire.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../copies/repository/repository-writer.ts';
import type {Policy} from '../../copies/repository/retention.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {printable} from '../printable.ts';
import {withScratch} from '../restore/scratch.ts';
import {TransientLine} from '../transient-line.ts';
import {atRepository} from './at-repository.ts';

type Options = {
  to?: string;
  key?: string;
  keepLast?: number;
  keepHourly?: number;
  keepDaily?: number;
  keepWeekly?: number;
  keepMonthly?: number;
  scratch: string;
  dryRun?: true;
  json?: true;
};

export function register(backup: Command): void {
  backup
    .command('expire')
    .description('drop old points, and remove objects that nothing needs')
    .option('--to <repository>', 'where the copies are (SVC_BACKUP_TO)', process.env.SVC_BACKUP_TO)
    .option('--key <file>', 'the key of the repository (SVC_BACKUP_KEY)', process.env.SVC_BACKUP_KEY)
    .option('--keep-last <n>', 'keep the newest n points of each tenant', count)
    .option('--keep-hourly <n>', 'keep the last point of each of the newest n hours that have one', count)
    .option('--keep-daily <n>', 'of days', count)
    .option('--keep-weekly <n>', 'of weeks', count)
    .option('--keep-monthly <n>', 'of months', count)
    .option('--scratch <directory>', 'for files while page sets are merged', tmpdir())
    .option('--dry-run', 'say what would be removed, and change nothing')
    .option('--json', 'the result as a JSON object')
    .action((options: Options) => {
      const at = {
        ...(options.to === undefined ? {} : {from: options.to}),
        ...(options.key === undefined ? {} : {key: options.key}),
      };
      return atRepository('svc backup expire', at, repository => expireAll(repository, options));
    });
}

async function expireAll(repository: Repository, options: Options): Promise<void> {
  const {scratch, dryRun, json} = options;
  const server = {host: hostname(), serverId: `svc-backup-expire-${randomBytes(4).toString('hex')}`};
  const writer = await RepositoryWriter.open(repository, server);
  const line = new TransientLine();
  try {
    const expired = await withScratch(scratch, directory =>
      expire(writer, {
        policy: policyOf(options),
        scratch: directory,
        nowMs: Date.now(),
        dryRun: dryRun === true,
        onTenant: (tenant, at, of) => line.show(`${printable(tenant)} (${at + 1} of ${of}) …`),
      }),
    );
    line.clear();
    process.stdout.write(
      `${json === true ? JSON.stringify({...expired, dry_run: dryRun === true}) : textOf(expired, dryRun)}\n`,
    );
  } finally {
    line.clear();
    await writer.release();
  }
}

/** Null: no point is dropped. */
function policyOf({keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly}: Options): Policy | null {
  const given = {last: keepLast, hourly: keepHourly, daily: keepDaily, weekly: keepWeekly, monthly: keepMonthly};
  const policy = Object.fromEntries(Object.entries(given).filter(([, n]) => n !== undefined)) as Policy;
  return Object.keys(policy).length === 0 ? null : policy;
}

function textOf({items, objects, bytes}: Expired, dryRun: true | undefined): string {
  const would = dryRun === true ? 'would be ' : '';
  return `${counted(items, 'page set')} ${would}dropped or merged, ${counted(objects, 'object')} of ${bytesText(bytes)} ${would}removed`;
}

function count(text: string): number {
  const n = Number(text);
  if (/^\d{1,6}$/.test(text) && n > 0) return n;
  throw new InvalidArgumentError('It must be a number from 1 to 999999.');
}
