/**
 * `svc backup drill --from REPO --key FILE` restores tenants into a scratch directory, checks them, and stores the
 * result in the repository. It needs no server. Functions are not started: only a server runs code of tenants.
 */
import {Buffer} from 'node:buffer';
import {join} from 'node:path';
import {type Command, InvalidArgumentError} from 'commander';
import {drillTenant} from '../../copies/drill/drill.ts';
import type {Proof} from '../../copies/drill/proof.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import {SERVER} from '../../copies/repository/tenant-copies.ts';
import {RestoreError} from '../../copies/restore/restore-error.ts';
import {checkFile} from '../../engine/verify/check-file.ts';
import type {DrillCheck, DrilledFile, ExpectedPoint} from '../../shared/ipc/drill.ts';
import {randomOnes} from '../../shared/random-ones.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {addScratchOption, withScratch} from '../restore/scratch.ts';
import {TransientLine} from '../transient-line.ts';
import {addRepositoryOptions, atRepository, type RepositoryOptions} from './at-repository.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

type Options = RepositoryOptions & {tenant?: string; tenants?: number; scratch: string; json?: true};

export function register(backup: Command): void {
  addScratchOption(addRepositoryOptions(backup.command('drill')))
    .description('prove copies: restore tenants into a scratch directory and check everything')
    .option('--tenant <id>', 'only this tenant')
    .option('--tenants <n>', 'this many at random; otherwise all', count)
    .option('--json', 'one JSON object per tenant')
    .action((options: Options) => atRepository('svc backup drill', options, repository => drill(repository, options)));
}

async function drill(repository: Repository, {tenant, tenants, scratch, json}: Options): Promise<void> {
  const lost = [...(await repository.lostKeys()).keys()].filter(each => each !== SERVER);
  const all = [...(await repository.tenants()), ...lost];
  if (tenant !== undefined && !all.includes(tenant)) {
    throw new CommandFailure(`the repository has no copies of the tenant ${tenant}`);
  }
  const chosen = tenant !== undefined ? [tenant] : tenants !== undefined ? randomOnes(all, tenants) : all;
  if (chosen.length === 0) throw new CommandFailure('the repository has no tenants');
  const failed = await withScratch(scratch, directory => drillEach(repository, chosen, directory, json === true));
  if (!json) {
    const outcome = failed === 0 ? 'all passed' : `${failed} failed`;
    process.stdout.write(`${chosen.length} ${chosen.length === 1 ? 'tenant' : 'tenants'} drilled: ${outcome}\n`);
  }
  if (failed > 0) process.exitCode = failed === chosen.length ? 1 : EXIT_PARTIAL;
}

/** @returns how many failed */
async function drillEach(
  repository: Repository,
  tenants: readonly string[],
  scratch: string,
  isJson: boolean,
): Promise<number> {
  const line = new TransientLine();
  let failed = 0;
  for (const [i, tenant] of tenants.entries()) {
    const title = `${tenant} (${i + 1} of ${tenants.length})`;
    const show = (text: string) => line.show(printable(`${title}: ${text}`));
    show('reading the list of its copies …');
    const proof = await drillTenant({
      repository,
      tenant,
      directory: join(scratch, 'drill'),
      check: async (path, expected) => {
        show('checking the file …');
        return checked(path, tenant, expected);
      },
      onProgress: ({sets, setsTotal, bytes, bytesTotal}) =>
        show(`${sets} of ${setsTotal} page sets, ${bytesText(bytes)} of ${bytesText(bytesTotal)}`),
    }).catch((caught: unknown) => {
      const isFull = caught instanceof RestoreError && caught.code === 'no_space';
      throw isFull ? new CommandFailure(`${caught.message}; --scratch names another place`) : caught;
    });
    line.clear();
    if (!proof.passed) failed++;
    process.stdout.write(isJson ? `${printableJson(JSON.stringify(proof))}\n` : printable(described(proof)));
  }
  return failed;
}

function checked(path: string, tenant: string, {digest, ...at}: ExpectedPoint): DrilledFile {
  const found = checkFile(path, {tenant, point: {...at, digest: Buffer.from(digest, 'hex')}});
  return {...found, functions: 'not_started', query: null, functionFindings: []};
}

function described({tenant, duration_ms: ms, passed, point, documents, records, checks}: Proof): string {
  const seconds = `${(ms / 1_000).toFixed(1)} s`;
  const at = point === null ? '' : ` commit ${point.commit} of ${new Date(point.time_ms).toISOString()}`;
  if (!passed) return `${tenant}: FAILED:${at} (${seconds})\n${checks.flatMap(findingLines).join('')}`;
  const counts = `${counted(documents ?? 0, 'document')}, ${counted(records ?? 0, 'journal record')}; functions were not started`;
  return `${tenant}: passed:${at}, ${counts} (${seconds})\n`;
}

function findingLines({check, findings}: DrillCheck): string[] {
  return findings.map(finding => `  ${check}: ${finding}\n`);
}

function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}
