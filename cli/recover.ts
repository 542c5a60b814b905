/**
 * `svc recover --data DIR` repairs a data directory whose registry does not match its directories, so that the server
 * does not start. Without options it lists the findings and changes nothing. `--adopt` makes a registry from the
 * directories, `--move-aside` moves directories that the registry does not name to `<data>/set-aside`. `--repair`
 * repairs a tenant's damaged file so that it can be opened, after copying it to set-aside. None of them deletes
 * anything else; all of them need a stopped server.
 */
import {join} from 'node:path';
import type {Command} from 'commander';
import {tenantDirectoryName} from '../supervisor/files/directory-name.ts';
import type {FoundDirectory} from '../supervisor/files/tenant-files.ts';
import {adopt, isWhole} from './data-directory/adopt.ts';
import {lockDataDirectory, requireSurvey} from './data-directory/lock.ts';
import {type FilePeek, peekAt} from './data-directory/peek.ts';
import {repairTenant} from './data-directory/repair.ts';
import {setAside} from './data-directory/set-aside.ts';
import type {Survey} from './data-directory/survey.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';

type Options = {data: string; adopt?: true; moveAside?: true | string[]; repair?: string; json?: true};

type Listed = {directory: string; tenant: string | null; state: string} & Omit<FilePeek, 'identity'>;

export function register(program: Command): void {
  program
    .command('recover')
    .description('list the contents of a data directory and repair its registry; deletes nothing')
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--adopt', 'rebuild the registry from the directories; the old one goes to set-aside/')
    .option(
      '--move-aside [directories...]',
      'move these directories, or all that the registry does not name, to set-aside/',
    )
    .option('--repair <tenant>', 'mend the damaged file of this tenant as far as it can be; a copy goes to set-aside/')
    .option('--json', 'list one JSON object per directory')
    .action((options: Options) => reportFailure('svc recover', () => recover(options)));
}

async function recover(options: Options): Promise<void> {
  const {data, moveAside, repair} = options;
  const steps = [options.adopt, moveAside, repair].filter(step => step !== undefined).length;
  if (steps > 1) {
    throw new CommandFailure('--adopt, --move-aside and --repair are steps: one, a look at the list, then another', 2);
  }
  if (steps === 0) return list(options, requireSurvey(data));
  process.umask(0o077);
  const lock = await lockDataDirectory(data);
  try {
    if (options.adopt) await adoptAll(data, requireSurvey(data));
    else if (repair !== undefined) await repairOne(data, requireSurvey(data), repair);
    else await moveAll(data, requireSurvey(data), moveAside === true ? null : moveAside!);
  } finally {
    lock.release();
  }
}

/* ── list ── */

function list({data, json}: Options, found: Survey): void {
  const {registryPath, registryFinding} = found;
  const listed = [...found.found.map(directory => listedOf(directory, found)), ...missingOf(found)];
  if (json) {
    process.stdout.write(`${JSON.stringify({registry: registryPath, finding: registryFinding})}\n`);
    for (const each of listed) process.stdout.write(`${printableJson(JSON.stringify(each))}\n`);
    return;
  }
  process.stdout.write(`registry: ${registryFinding === null ? `${found.rows.length} tenants` : registryFinding}\n`);
  process.stdout.write(printable(tableOf(listed)));
  process.stdout.write(`${adviceFor(data, found)}\n`);
}

function listedOf(directory: FoundDirectory, found: Survey): Listed {
  const {id, generation, name} = directory;
  const nothing = {documents: null, bytes: 0, lastWriteMs: null, finding: null};
  const state = stateOf(directory, found);
  if (id === null || generation === null || directory.kind !== 'tenant' || directory.content !== 'used') {
    return {directory: name, tenant: id, state, ...nothing};
  }
  const {identity: _, ...peek} = peekAt(join(found.tenantsPath, name), {id, generation});
  return {directory: name, tenant: id, state, ...peek};
}

function stateOf(directory: FoundDirectory, {plan, registryFinding}: Survey): string {
  if (directory.kind === 'foreign') return "not a tenant's name";
  if (directory.kind === 'deleted') return 'deleted';
  if (directory.content === 'empty' || directory.content === 'torn') return 'never created';
  if (directory.content === 'odd') return 'its note is no file';
  if (directory.content === 'new') return 'never used';
  const isKnown = plan.tenants.some(({row}) => row.id === directory.id && row.generation === directory.generation);
  if (isKnown) return 'in the registry';
  return registryFinding === null ? 'not in the registry' : 'no registry';
}

function missingOf({plan, found}: Survey): Listed[] {
  return plan.tenants
    .filter(({row, isMissing}) => isMissing && !found.some(it => it.id === row.id && it.generation === row.generation))
    .map(({row}) => ({
      ...{directory: '-', tenant: row.id, state: 'in the registry', documents: null, bytes: 0, lastWriteMs: null},
      finding: 'its directory is missing',
    }));
}

function tableOf(listed: Listed[]): string {
  const rows = listed.map(({directory, tenant, state, documents, bytes, lastWriteMs}) => [
    directory,
    tenant ?? '-',
    state,
    documents === null ? '-' : String(documents),
    String(bytes),
    lastWriteMs === null ? '-' : new Date(lastWriteMs).toISOString(),
  ]);
  const head = ['directory', 'tenant', 'state', 'documents', 'bytes', 'last write'];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)));
  const line = (cells: string[]) =>
    `${cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()}\n`;
  return line(head) + rows.map((row, i) => line(row) + findingOf(listed[i]!)).join('');
}

function findingOf({finding}: Listed): string {
  return finding === null ? '' : `  ${finding}\n`;
}

function adviceFor(data: string, found: Survey): string {
  if (isWhole(found)) return 'the registry names every tenant that is here';
  if (found.registryFinding !== null && !found.isRegistryLost) return 'this registry cannot be read by this command';
  const aside = `move those that are not in the registry to set-aside/: svc recover --data ${data} --move-aside`;
  return [
    `make a registry of these directories: svc recover --data ${data} --adopt`,
    ...(found.plan.unknown.length > 0 && found.registryFinding === null ? [aside] : []),
  ].join('\n');
}

/* ── adopt ── */

async function adoptAll(data: string, found: Survey): Promise<void> {
  if (isWhole(found)) {
    process.stdout.write('nothing to adopt: the registry names every tenant that is here\n');
    return;
  }
  const {registryFinding, registryPath} = found;
  if (registryFinding !== null && !found.isRegistryLost) {
    throw new CommandFailure(`${registryPath} ${registryFinding}; nothing was changed`);
  }
  const {tenants, missing, oldRegistry} = await adopt(data, found);
  const old = oldRegistry.length === 0 ? '' : `; the old one is ${oldRegistry[0]}`;
  process.stdout.write(`a registry of ${tenants.length + missing.length} tenants was made${old}\n`);
  for (const id of tenants) process.stdout.write(`  ${id}\n`);
  for (const id of missing)
    process.stdout.write(`  ${id}: its directory is missing; 503 until it is back or deleted\n`);
}

/* ── repair ── */

async function repairOne(data: string, found: Survey, tenant: string): Promise<void> {
  const owner = found.plan.tenants.find(({row, isMissing}) => row.id === tenant && !isMissing);
  if (owner === undefined) throw new CommandFailure(`there is no directory of a tenant ${JSON.stringify(tenant)}`);
  const {id, generation} = owner.row;
  const {copy, done, left} = await repairTenant(
    data,
    join(found.tenantsPath, tenantDirectoryName(id, generation)),
    owner.row,
  );
  process.stdout.write(`a copy of the files as they were is ${copy}\n`);
  for (const line of done) process.stdout.write(`mended: ${printable(line)}\n`);
  if (done.length === 0) process.stdout.write('nothing was found that could be mended\n');
  for (const line of left) process.stdout.write(`left: ${printable(line)}\n`);
}

/* ── move aside ── */

async function moveAll(data: string, found: Survey, names: string[] | null): Promise<void> {
  const {plan, registryFinding, registryPath, tenantsPath} = found;
  if (names === null && registryFinding !== null) {
    throw new CommandFailure(
      `the registry ${registryPath} ${registryFinding}, so no directory is known to be a tenant's: name those to move`,
    );
  }
  const chosen = names ?? plan.unknown.map(({name}) => name);
  for (const name of chosen) checkMovable(name, found);
  if (chosen.length === 0) process.stdout.write('nothing to move: the registry names every directory\n');
  for (const name of chosen) {
    const to = await setAside(data, join(tenantsPath, name));
    process.stdout.write(`${name} is now ${to}\n`);
  }
}

function checkMovable(name: string, {found, plan}: Survey): void {
  const directory = found.find(it => it.name === name);
  if (directory === undefined)
    throw new CommandFailure(`there is no directory ${JSON.stringify(name)} among the tenants'`);
  const owner = plan.tenants.find(({row}) => row.id === directory.id && row.generation === directory.generation);
  if (directory.kind === 'tenant' && owner !== undefined) {
    throw new CommandFailure(`${name} is the directory of tenant ${directory.id}; delete the tenant instead`);
  }
}
