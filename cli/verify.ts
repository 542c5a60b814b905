/**
 * `svc verify --data DIR [--tenant T]` checks every tenant's file and its journal's chain, checks that state and
 * indexes match the journal, and that registry and directories name the same tenants. Read-only; a server can be
 * running on the directory. Exit code 0: no findings; 1: findings.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {performance} from 'node:perf_hooks';
import type {Command} from 'commander';
import {type VerifyReport, verifyFile} from '../engine/verify/verify-file.ts';
import {irregularFiles, readNote} from '../shared/regular-file.ts';
import {DAMAGED_FILE, TENANT_FILE} from '../shared/tenant-directory.ts';
import {tenantDirectoryName} from '../supervisor/files/directory-name.ts';
import {fileStateOf} from '../supervisor/files/tenant-files.ts';
import {type Survey, surveyDataDirectory} from './data-directory/survey.ts';
import {printable, printableJson} from './printable.ts';
import {TransientLine} from './transient-line.ts';

type Options = {data: string; tenant?: string; json?: true};

/** One tenant to check. `finding`: a fault that is known before its file is opened. */
type Checked = {id: string; generation: number; directory: string; isUnused: boolean; finding: string | null};

export function register(program: Command): void {
  program
    .command('verify')
    .description(
      'check the files of a data directory: storage, journal chain, state against journal, indexes, registry',
    )
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--tenant <id>', 'only this tenant')
    .option('--json', 'one JSON object per tenant')
    .action((options: Options) => {
      process.exitCode = verify(options) ? 0 : 1;
    });
}

function verify({data, tenant, json}: Options): boolean {
  const survey = surveyDataDirectory(data);
  if (survey === null) {
    process.stderr.write(`svc verify: ${data} is not a data directory: it has no registry.sqlite\n`);
    return false;
  }
  const checked = tenantsOf(survey).filter(({id}) => tenant === undefined || id === tenant);
  if (tenant !== undefined && checked.length === 0) {
    process.stderr.write(`svc verify: ${data} has no tenant ${tenant}\n`);
    return false;
  }
  const registry = registryFindings(survey);
  if (registry.length > 0) shown(JSON.stringify({findings: registry}), reported(registry), json);
  let sound = registry.length === 0;
  const progress = new TransientLine();
  for (const [index, each] of checked.entries()) {
    const started = performance.now();
    progress.show(printable(`checking ${each.id} (${index + 1} of ${checked.length}) …`));
    const report = verifyOne(each);
    progress.clear();
    const seconds = (performance.now() - started) / 1000;
    sound &&= report.findings.length === 0;
    shown(JSON.stringify({tenant: each.id, ...report}), described(each.id, report, seconds), json);
  }
  if (!json)
    process.stdout.write(`${checked.length} tenants checked: ${sound ? 'all is well' : 'there are findings'}\n`);
  return sound;
}

/** Prints text from tenants' files safely on the operator's terminal. */
function shown(object: string, text: string, json: true | undefined): void {
  process.stdout.write(json ? `${printableJson(object)}\n` : printable(text));
}

function registryFindings({registryPath, registryFinding, isRegistryBusy, rows, plan}: Survey): string[] {
  if (isRegistryBusy) return [];
  if (registryFinding !== null) return [`${registryPath} ${registryFinding}`];
  const unsound = rows.filter(row => !row.isSound).map(row => `the row of tenant ${JSON.stringify(row.id)} is damaged`);
  const impossible = plan.impossible.map(row => `no tenant can be called ${JSON.stringify(row.id)}, ${row.generation}`);
  return [...unsound, ...impossible];
}

function tenantsOf({tenantsPath, registryFinding, plan, isOld}: Survey): Checked[] {
  const named = plan.tenants.map(({row, isMissing}): Checked => {
    const {id, generation} = row;
    const directory = join(tenantsPath, tenantDirectoryName(id, generation));
    if (isOld && isMissing && existsSync(directory)) return {id, generation, directory, isUnused: true, finding: null};
    return {id, generation, directory, isUnused: false, finding: isMissing ? 'file: it is missing' : null};
  });
  const others = [...plan.unknown, ...plan.created].map(({id, generation, name, content}): Checked => {
    const isUnused = content === 'new';
    const finding = `registry: it does not name the directory ${name} (see svc recover)`;
    const directory = join(tenantsPath, name);
    return {id, generation, directory, isUnused, finding: isUnused || registryFinding !== null ? null : finding};
  });
  return [...named, ...others].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** A tenant that was never used has no file. A file that cannot be opened is a finding like any other. */
function verifyOne({id, generation, directory, isUnused, finding}: Checked): VerifyReport {
  const empty = {documents: 0, records: 0, floor: 1, indexEntries: 0};
  const note = join(directory, DAMAGED_FILE);
  const known = finding === null ? [] : [finding];
  if (isUnused) return {...empty, findings: known};
  try {
    const stopped = readNote(note);
    if (stopped.is !== 'missing') {
      known.push(
        `file: the tenant is stopped by ${note}: ${stopped.is === 'file' ? stopped.text.trim() : stopped.why}`,
      );
    }
    if (!existsSync(directory)) return {...empty, findings: [...new Set([...known, 'file: it is missing'])]};
    // SQLite, and the check of the log before it, would open them.
    const odd = irregularFiles(directory, 'tenant.');
    if (odd.length > 0) return {...empty, findings: [...known, ...odd.map(what => `file: ${what}`)]};
    const file = fileStateOf(directory);
    if (file.isLost) return {...empty, findings: [...new Set([...known, 'file: it is missing'])]};
    if (file.isNew) return {...empty, findings: known};
    const report = verifyFile(join(directory, TENANT_FILE), {tenant: id, generation});
    return {...report, findings: [...known, ...report.findings]};
  } catch (caught) {
    return {...empty, findings: [...known, `file: ${caught instanceof Error ? caught.message : String(caught)}`]};
  }
}

function reported(findings: string[]): string {
  return `registry: NOT OK\n${findings.map(finding => `  ${finding}\n`).join('')}`;
}

function described(tenant: string, report: VerifyReport, seconds: number): string {
  const {documents, records, floor, indexEntries, findings} = report;
  const from = floor > 1 ? ` from ${floor} on` : '';
  const counts = `${documents} documents, ${records} journal records${from}, ${indexEntries} index entries`;
  const lines = findings.map(finding => `  ${finding}\n`).join('');
  return `${tenant}: ${findings.length === 0 ? 'ok' : 'NOT OK'}: ${counts} (${seconds.toFixed(1)} s)\n${lines}`;
}
