/**
 * `svc backup expire` drops the points of a repository that a policy does not keep, and removes the objects that nothing
 * needs any more. It writes, so no server may be writing to the repository; `--dry-run` only reads.
 */
import {randomBytes} from 'node:crypto';
import {hostname} from 'node:os';
import type {Command} from 'commander';
import {type Expired, expirable, expire} from '../../copies/repository/expire.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../copies/repository/repository-writer.ts';
import type {Policy} from '../../copies/repository/retention.ts';
import {keepCount} from '../backup-keep.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {addScratchOption, withScratch} from '../restore/scratch.ts';
import {TransientLine} from '../transient-line.ts';
import {atRepository} from './at-repository.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

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
  addScratchOption(backup.command('expire'))
    .description('drop old points, and remove objects that nothing needs')
    .option('--to <repository>', 'where the copies are (SVC_BACKUP_TO)', process.env.SVC_BACKUP_TO)
    .option('--key <file>', 'the key of the repository (SVC_BACKUP_KEY)', process.env.SVC_BACKUP_KEY)
    .option('--keep-last <n>', 'keep the newest n points of each tenant', keepCount)
    .option('--keep-hourly <n>', 'keep the last point of each of the newest n hours that have one', keepCount)
    .option('--keep-daily <n>', 'of days', keepCount)
    .option('--keep-weekly <n>', 'of weeks', keepCount)
    .option('--keep-monthly <n>', 'of months', keepCount)
    .option('--dry-run', 'say what would be removed, and only read: a server can be running')
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
  const line = new TransientLine();
  const retention = {
    policy: policyOf(options),
    nowMs: Date.now(),
    onTenant: (tenant: string, at: number, of: number) => line.show(`${printable(tenant)} (${at + 1} of ${of}) …`),
  };
  const {dryRun, json, scratch} = options;
  const expired = await (dryRun === true
    ? expirable(repository, retention)
    : withWriter(repository, writer =>
        withScratch(scratch, directory => expire(writer, {...retention, scratch: directory})),
      )
  ).finally(() => line.clear());
  const {items, objects, bytes, faults} = expired;
  const record = {items: totalOf(items), objects, bytes, tenants: Object.fromEntries(items), dry_run: dryRun === true};
  process.stdout.write(
    `${json === true ? printableJson(JSON.stringify(record)) : printable(textOf(expired, dryRun))}\n`,
  );
  if (faults.length === 0) return;
  const reasons = faults.map(({message}) => `\n  ${printable(message)}`).join('');
  throw new CommandFailure(`no pack is removed, because these tenants may need it:${reasons}`, EXIT_PARTIAL);
}

/** @throws RepositoryError `locked`: a server writes to it */
async function withWriter<T>(repository: Repository, use: (writer: RepositoryWriter) => Promise<T>): Promise<T> {
  const server = {host: hostname(), serverId: `svc-backup-expire-${randomBytes(4).toString('hex')}`};
  const writer = await RepositoryWriter.open(repository, server);
  try {
    return await use(writer);
  } finally {
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
  const dropped = (n: number): string => `${counted(n, 'page set')} ${would}dropped or merged`;
  const lines = [...items].map(([tenant, n]) => `${tenant}: ${dropped(n)}`);
  const removed = `${counted(objects, 'object')} of ${bytesText(bytes)} ${would}removed`;
  return [...lines, `${dropped(totalOf(items))}, ${removed}`].join('\n');
}

function totalOf(items: Expired['items']): number {
  return [...items.values()].reduce((sum, n) => sum + n, 0);
}
