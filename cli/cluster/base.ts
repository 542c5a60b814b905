/**
 * `svc cluster base` stores a base of a tenant now: a copy is made of the newest base and the log, beside all hosts, so it
 * works whether they run or not, and proves on the way that the log is whole.
 */
import {mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Command} from 'commander';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {LogFollower} from '../../cluster/owner/log-follower.ts';
import {findTenant} from '../../cluster/ownership/claim.ts';
import {storeBase} from '../../cluster/standby/new-base.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {DISK} from '../../engine/copies/disk.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {bytesText} from '../bytes-text.ts';
import {CommandFailure} from '../failure.ts';
import {addLogOptions, type LogOptions} from './log-options.ts';
import {onLog} from './on-log.ts';

type Options = LogOptions & {json?: true; scratch: string};

export function registerBase(cluster: Command): void {
  const command = cluster
    .command('base <tenant>')
    .description(
      'store a copy of a whole tenant in the log now, so that the records before it can go; run it on a host',
    )
    .option('--scratch <directory>', 'where there is space for the tenant, twice', tmpdir())
    .option('--json', 'the base, as JSON');
  addLogOptions(command).action((tenant: string, options: Options) =>
    onLog('base', options, log => base(log, tenant, options)),
  );
}

async function base(log: ReplicatedLog, id: string, {scratch, json}: Options): Promise<void> {
  const found = await findTenant(log.records, id);
  if (found === null) throw new CommandFailure(`the cluster has no tenant ${id}`);
  const tenant = {id, generation: found.record.generation};
  const directory = mkdtempSync(join(scratch, 'svc-base-'));
  const file = new ReplicatedFile(join(directory, TENANT_FILE), 0);
  try {
    const report = (sentence: string) => process.stderr.write(`${sentence}\n`);
    const follower = new LogFollower(log.tenant(tenant), file, {bases: log.bases, tenant, report});
    await follower.follow();
    const {tail, openedBy} = follower;
    if (tail === null || file.at === null)
      throw new CommandFailure(`the tenant ${id} has nothing: it was never opened`);
    const path = join(directory, 'base');
    const fd = DISK.open(path, 'w');
    try {
      file.writeBase({write: bytes => DISK.write(fd, bytes, null)});
    } finally {
      DISK.close(fd);
    }
    const {size: bytes} = statSync(path);
    const kind = await storeBase(log, tenant, {path, position: tail, openedBy: openedBy ?? ''});
    if (kind === 'full') throw new CommandFailure('the log has no space for a base');
    if (kind !== 'stored') throw new CommandFailure(`a host stores a base of ${id} at this moment: run it again`);
    const {n: record, epoch} = tail;
    const shown = {tenant: id, bytes, record, epoch, commit: file.at.commit};
    const text = `${id}  base of ${bytesText(bytes)} at record ${record} of epoch ${epoch}`;
    process.stdout.write(`${json === true ? JSON.stringify(shown) : text}\n`);
  } catch (caught) {
    if (!(caught instanceof CopyError || caught instanceof PageSetError)) throw caught;
    throw new CommandFailure(`the log of ${id} makes no file: ${caught.message}`, 1, {cause: caught});
  } finally {
    file.close();
    rmSync(directory, {recursive: true, force: true});
  }
}
