/**
 * `svc verify --data DIR [--tenant T]`: checks every tenant's file, its journal's chain, and that state and indexes are what
 * the journal says. Read-only; a server may be running on the directory. Exit code 0: all is well; 1: something is not.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {performance} from 'node:perf_hooks';
import Database from 'better-sqlite3';
import type {Command} from 'commander';
import {tenantDirectoryName} from '../router/supervisor/tenant-files.ts';
import {TENANT_FILE} from '../worker/tenant-file.ts';
import {type VerifyReport, verifyFile} from '../worker/verify/verify-file.ts';

type Options = {data: string; tenant?: string; json?: true};

export function register(program: Command): void {
  program
    .command('verify')
    .description('check the files of a data directory: storage, journal chain, state against journal, indexes')
    .option('--data <directory>', 'the data directory (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .option('--tenant <id>', 'only this tenant')
    .option('--json', 'one JSON object a tenant')
    .action((options: Options) => {
      process.exitCode = verify(options) ? 0 : 1;
    });
}

function verify({data, tenant, json}: Options): boolean {
  const registryPath = join(data, 'registry.sqlite');
  if (!existsSync(registryPath)) {
    process.stderr.write(`svc verify: ${data} is not a data directory: it has no registry.sqlite\n`);
    return false;
  }
  const tenants = tenantsOf(registryPath).filter(({id}) => tenant === undefined || id === tenant);
  if (tenant !== undefined && tenants.length === 0) {
    process.stderr.write(`svc verify: ${data} has no tenant ${tenant}\n`);
    return false;
  }
  let sound = true;
  for (const {id, generation} of tenants) {
    const started = performance.now();
    const path = join(data, 'tenants', tenantDirectoryName(id, generation), TENANT_FILE);
    const report = verifyOne(path, {tenant: id, generation});
    const seconds = (performance.now() - started) / 1000;
    sound &&= report.findings.length === 0;
    process.stdout.write(json ? `${JSON.stringify({tenant: id, ...report})}\n` : described(id, report, seconds));
  }
  if (!json)
    process.stdout.write(`${tenants.length} tenants checked: ${sound ? 'all is well' : 'there are findings'}\n`);
  return sound;
}

/** A tenant that was never used has no file. A file that cannot even be opened is a finding like others. */
function verifyOne(path: string, owner: {tenant: string; generation: number}): VerifyReport {
  const empty = {documents: 0, records: 0, floor: 1, indexEntries: 0};
  if (!existsSync(path)) return {...empty, findings: []};
  try {
    return verifyFile(path, owner);
  } catch (caught) {
    return {...empty, findings: [`file: ${caught instanceof Error ? caught.message : String(caught)}`]};
  }
}

function tenantsOf(registryPath: string): {id: string; generation: number}[] {
  const db = new Database(registryPath, {readonly: true, fileMustExist: true});
  try {
    return db
      .prepare<[], {id: string; generation: number}>(
        "SELECT id, generation FROM tenants WHERE state = 'ready' ORDER BY id",
      )
      .all();
  } finally {
    db.close();
  }
}

function described(tenant: string, report: VerifyReport, seconds: number): string {
  const {documents, records, floor, indexEntries, findings} = report;
  const from = floor > 1 ? ` from ${floor} on` : '';
  const counts = `${documents} documents, ${records} journal records${from}, ${indexEntries} index entries`;
  const lines = findings.map(finding => `  ${finding}\n`).join('');
  return `${tenant}: ${findings.length === 0 ? 'ok' : 'NOT OK'}: ${counts} (${seconds.toFixed(1)} s)\n${lines}`;
}
