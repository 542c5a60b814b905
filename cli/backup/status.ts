/** `svc backup status` shows whether the server's backups work, and which tenants are behind. */
import type {Command} from 'commander';
import {BACKUP_PAGE_MAX} from '../../shared/limits.ts';
import type {BackupStatus, TenantBackup} from '../../shared/protocol/backups.ts';
import {bytesText} from '../bytes-text.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from '../client.ts';
import {printable, printableJson} from '../printable.ts';
import {atServer} from '../server-verb.ts';

type Status = Pick<BackupStatus, 'backup' | 'tenants'>;
type Backup = NonNullable<BackupStatus['backup']>;

export function registerStatus(backup: Command): void {
  addServerOptions(
    backup
      .command('status')
      .description('whether the backups work, how old they are, and which tenants are behind')
      .option('--json', 'as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('backup status', options, async client => {
      const status = await wholeStatus(client);
      const text = options.json === true ? printableJson(JSON.stringify(status)) : printable(textOf(status));
      process.stdout.write(`${text}\n`);
      if (!['running', 'standby'].includes(status.backup?.state ?? 'none')) process.exitCode = 1;
    }),
  );
}

async function wholeStatus(client: ServiceClient): Promise<Status> {
  const tenants: TenantBackup[] = [];
  for (let cursor: string | null = null; ; ) {
    const query = {limit: BACKUP_PAGE_MAX, ...(cursor === null ? {} : {cursor})};
    const page: BackupStatus = await client.ask('backup.status', [], {query});
    tenants.push(...page.tenants);
    cursor = page.next_cursor;
    if (cursor === null) return {backup: page.backup, tenants};
  }
}

function textOf({backup, tenants}: Status): string {
  if (backup === null) return 'this server makes no backups: start it with --backup-to';
  const {last_success_at: success, last_fault: fault} = backup;
  const behind = tenants.filter(({age_ms, fault: its}) => age_ms > 0 || its !== null);
  const widest = Math.max(0, ...behind.map(({id}) => id.length));
  return [
    `repository  ${backup.to}${backup.repository_id === null ? '' : ` (${backup.repository_id})`}`,
    `state       ${backup.state}${fault === null ? '' : `: ${fault.message}`}`,
    `complete    ${success === null ? 'not since the start' : `at ${new Date(success).toISOString()}`}`,
    `oldest      ${ageText(backup.age_ms)}, ${bytesText(backup.spool_bytes)} wait`,
    `drill       ${drillText(backup.drill, tenants)}`,
    `tenants     ${tenants.length}, ${behind.length} behind`,
    ...behind.map(
      one => `  ${one.id.padEnd(widest)}  ${ageText(one.age_ms)}${one.fault ? `: ${one.fault.message}` : ''}`,
    ),
  ].join('\n');
}

function drillText({running, last}: Backup['drill'], tenants: TenantBackup[]): string {
  if (running !== null) return `${running.done} of ${running.total} tenants are done`;
  const proofs = tenants.flatMap(({id, last_proof: proof}) => (proof === null ? [] : [{id, ...proof}]));
  if (last === null && proofs.length === 0) return 'none yet';
  const newest = Math.max(last?.at ?? 0, ...proofs.map(({at}) => at));
  const failed = proofs.filter(({passed}) => !passed).map(({id, finding}) => `; ${id} failed: ${finding}`);
  return `last at ${new Date(newest).toISOString()}${failed.join('')}`;
}

function ageText(ms: number): string {
  return ms === 0 ? 'nothing waits' : `${(ms / 1_000).toFixed(1)} s`;
}
