/**
 * `svc upgrade --data DIR` lists the storage versions of all tenants' files. `--all` has a running server migrate them.
 * `--back` returns tenants to the copies from before their last upgrade, with a stopped server; `--forget` removes the
 * copies.
 */
import {join} from 'node:path';
import {setTimeout} from 'node:timers/promises';
import type {Command} from 'commander';
import {openReader} from '../engine/storage/database.ts';
import {STORAGE_VERSION} from '../engine/storage/migrations.ts';
import {readWrittenBy} from '../engine/storage/written-by.ts';
import {irregularFiles} from '../shared/regular-file.ts';
import {TENANT_FILE} from '../shared/tenant-directory.ts';
import {tenantDirectoryName} from '../supervisor/files/directory-name.ts';
import {forgetCopies, type KeptCopy, keptCopies} from '../supervisor/files/kept-copies.ts';
import {KEPT_COPY_MS} from '../supervisor/limits.ts';
import {EXIT_PARTIAL} from './backup/exit-codes.ts';
import {addServerOptions, type ServerOptions, type ServiceClient} from './client.ts';
import {addYesOption, type ConfirmOptions} from './confirm.ts';
import {showList} from './control.ts';
import {goBack, isReturned} from './data-directory/go-back.ts';
import {lockDataDirectory, requireSurvey} from './data-directory/lock.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {atServer} from './server-verb.ts';
import {TransientLine} from './transient-line.ts';

const UPGRADE_POLL_MS = 200;

type Options = ConfirmOptions & ServerOptions & {json?: true; all?: true; back?: true | string; forget?: true};

type Tenant = {id: string; directory: string};

/** Writes since a copy. Null: they cannot be determined. */
type Since = {count: number; first: number; last: number; firstMs: number; lastMs: number} | null;

export function register(program: Command): void {
  const command = addYesOption(
    program
      .command('upgrade')
      .description("list the storage versions of tenants' files, migrate all, and return to those from before")
      .option('--back [tenant]', 'return this tenant, or with --all every tenant, to the copy from before its upgrade')
      .option('--forget', 'remove the copies from before upgrades now; svc removes them after seven days')
      .option('--all', 'migrate the files of all tenants, on a running server; with --back: return all')
      .option('--json', 'one tenant per line, as JSON'),
  );
  addServerOptions(command).action((options: Options) =>
    options.all === true && options.back === undefined && options.forget !== true
      ? atServer('upgrade', options, client => upgradeAll(client, options.json === true))
      : reportFailure('svc upgrade', () => upgrade(options)),
  );
}

async function upgrade(options: Options): Promise<void> {
  const {data = './data', back, forget, all, json} = options;
  if (forget === true && back !== undefined) throw new CommandFailure('give --back or --forget', 2);
  if (back === true && all !== true) throw new CommandFailure('give a tenant to --back, or --all', 2);
  if (forget === true) return forgetAll(tenantsOf(data));
  if (back === undefined) return list(tenantsOf(data), json === true);
  process.umask(0o077);
  const lock = await lockDataDirectory(data);
  try {
    await goBackWith(data, typeof back === 'string' ? [back] : null, options);
  } finally {
    lock.release();
  }
}

function tenantsOf(data: string): Tenant[] {
  const {plan, tenantsPath} = requireSurvey(data);
  return plan.tenants
    .filter(({isMissing}) => !isMissing)
    .map(({row: {id, generation}}) => ({id, directory: join(tenantsPath, tenantDirectoryName(id, generation))}))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/* ── list ── */

function list(tenants: Tenant[], isJson: boolean): void {
  const rows = tenants.map(({id, directory}) => {
    const [odd] = irregularFiles(directory, 'tenant.');
    const written = odd === undefined ? readWrittenBy(join(directory, TENANT_FILE)) : null;
    return {
      tenant: id,
      storage_version: written?.version ?? null,
      svc: written?.svc ?? null,
      kept: keptCopies(directory).map(({note}) => ({
        storage_version: note.from,
        until_ms: note.made_ms + KEPT_COPY_MS,
      })),
    };
  });
  showList(rows, isJson, row =>
    [
      row.tenant,
      row.storage_version === null
        ? 'no file yet, or one that cannot be read'
        : `storage version ${row.storage_version}`,
      ...(row.svc === null ? [] : [`written by svc ${row.svc}`]),
      ...row.kept.map(kept => `version ${kept.storage_version} kept until ${new Date(kept.until_ms).toISOString()}`),
    ].join('  '),
  );
  if (isJson) return;
  const older = rows.filter(row => row.storage_version !== null && row.storage_version < STORAGE_VERSION).length;
  process.stdout.write(
    `this svc writes storage version ${STORAGE_VERSION}; ${older} of ${rows.length} tenants are migrated when they are next used\n`,
  );
}

/* ── all ── */

/** Follows the run to its end. It goes on in the server if this command is interrupted. */
async function upgradeAll(client: ServiceClient, isJson: boolean): Promise<void> {
  const line = new TransientLine();
  let status = await client.ask('upgrade.start', []);
  for (let {run} = status; run?.is_running === true; {run} = status) {
    line.show(`${run.done + run.paused + run.failed} of ${run.tenants} tenants`);
    await setTimeout(UPGRADE_POLL_MS);
    status = await client.ask('upgrade.status', []);
  }
  line.clear();
  const {run} = status;
  if (run === null) throw new CommandFailure('the server was started again meanwhile; run the command again');
  if (isJson) {
    process.stdout.write(`${printableJson(JSON.stringify(status))}\n`);
  } else {
    const {done, paused, failed, failures} = run;
    for (const {tenant, message} of failures) process.stdout.write(`${printable(`${tenant}: ${message}`)}\n`);
    const skipped = paused === 0 ? '' : `, ${paused} are paused and were skipped`;
    process.stdout.write(
      `${done} tenants were migrated to storage version ${status.storage_version}, ${failed} failed${skipped}\n`,
    );
  }
  if (run.failed > 0) process.exitCode = EXIT_PARTIAL;
}

/* ── back ── */

async function goBackWith(data: string, ids: string[] | null, {yes}: ConfirmOptions): Promise<void> {
  const tenants = tenantsOf(data).filter(({id}) => ids === null || ids.includes(id));
  if (ids !== null && tenants.length === 0) throw new CommandFailure(`there is no tenant ${ids[0]}`);
  const returned = tenants.filter(({directory}) => isReturned(directory));
  for (const {id, directory} of returned) {
    forgetCopies(directory, 0);
    process.stdout.write(`${printable(`${id}: a run that was interrupted has returned it`)}\n`);
  }
  const ways = tenants.flatMap(tenant => {
    if (returned.includes(tenant)) return [];
    const [copy] = keptCopies(tenant.directory);
    return copy === undefined ? [] : [{...tenant, copy, since: writesSince(tenant.directory, copy)}];
  });
  if (ways.length === 0 && returned.length > 0) return;
  if (ways.length === 0) throw new CommandFailure('there is no copy from before an upgrade');
  for (const {id, copy, since} of ways) process.stdout.write(`${printable(`${id}: ${textOf(copy, since)}`)}\n`);
  if (yes !== true && ways.some(({since}) => since === null || since.count > 0)) {
    throw new CommandFailure('nothing was done: these writes would not be in the tenants any more; give --yes');
  }
  for (const {id, directory, copy} of ways) {
    const aside = await goBack(data, directory, copy);
    process.stdout.write(`${id} has storage version ${copy.note.from} again; the newer file is in ${aside}\n`);
  }
}

function writesSince(directory: string, {note}: KeptCopy): Since {
  type Row = {sequence: number; record: string};
  try {
    const db = openReader(join(directory, TENANT_FILE));
    try {
      const at = (order: 'ASC' | 'DESC') =>
        db
          .prepare<[number], Row>(`SELECT sequence, record FROM journal WHERE sequence > ? ORDER BY sequence ${order}`)
          .get(note.sequence);
      const [first, last] = [at('ASC'), at('DESC')];
      if (first === undefined || last === undefined) return {count: 0, first: 0, last: 0, firstMs: 0, lastMs: 0};
      return {
        count: last.sequence - note.sequence,
        first: note.sequence + 1,
        last: last.sequence,
        firstMs: timeOf(first.record),
        lastMs: timeOf(last.record),
      };
    } finally {
      db.close();
    }
  } catch (caught) {
    // Also of a way back that was interrupted.
    if (caught instanceof Error && ('code' in caught || caught instanceof SyntaxError)) return null;
    throw caught;
  }
}

function timeOf(record: string): number {
  return (JSON.parse(record) as {timestamp: number}).timestamp;
}

function textOf({note}: KeptCopy, since: Since): string {
  const copy = `the copy of version ${note.from} was made at ${timeText(note.made_ms)}, before svc ${note.svc} made it version ${note.to}`;
  if (since === null) return `${copy}; the writes since then cannot be determined`;
  if (since.count === 0) return `${copy}; no document was written since then`;
  const {count, first, last, firstMs, lastMs} = since;
  return `${copy}; ${count} writes of documents since then are lost: sequence ${first} to ${last}, ${timeText(firstMs)} to ${timeText(lastMs)}`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/* ── forget ── */

function forgetAll(tenants: Tenant[]): void {
  const count = tenants.reduce((sum, {directory}) => sum + forgetCopies(directory), 0);
  process.stdout.write(`${count} ${count === 1 ? 'copy was' : 'copies were'} removed\n`);
}
