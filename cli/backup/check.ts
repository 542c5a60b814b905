/**
 * `svc backup check` compares what the manifests of a repository list with the objects that are there. With
 * `--read-data` it reads every byte. It names each object at fault, and changes nothing.
 */
import type {Command} from 'commander';
import {type Checked, type CheckFinding, check} from '../../copies/repository/check.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {printable, printableJson} from '../printable.ts';
import {TransientLine} from '../transient-line.ts';
import {addRepositoryOptions, atRepository, type RepositoryOptions} from './at-repository.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

type Options = RepositoryOptions & {readData?: true; json?: true};

export function register(backup: Command): void {
  addRepositoryOptions(backup.command('check'))
    .description('check that a repository has every object that it should have')
    .option('--read-data', 'read every byte of them, too')
    .option('--json', 'one JSON object per finding, and one for the whole')
    .action((options: Options) =>
      atRepository('svc backup check', options, repository => checkAll(repository, options)),
    );
}

async function checkAll(repository: Repository, {readData, json}: Options): Promise<void> {
  const line = new TransientLine();
  let [title, read] = ['', 0];
  const show = (): void => line.show(`${title}${readData === true ? `, ${bytesText(read)} read` : ''} …`);
  const checked = await check(repository, {
    readData: readData === true,
    onTenant: (tenant, at, of) => {
      title = `checking ${printable(tenant)} (${at + 1} of ${of + 1})`;
      show();
    },
    onBytes: bytes => {
      read += bytes;
      show();
    },
  }).finally(() => line.clear());
  for (const finding of checked.findings) print(json === true ? JSON.stringify(finding) : textOf(finding));
  print(json === true ? JSON.stringify(summaryOf(checked, readData === true)) : sentenceOf(checked, readData === true));
  const bad = new Set(checked.findings.map(({tenant}) => tenant));
  if (bad.size > 0) process.exitCode = bad.size >= checked.tenants ? 1 : EXIT_PARTIAL;
}

function textOf({object, tenant, finding}: CheckFinding): string {
  return `${tenant}: ${object === null ? '' : `${object}: `}${finding}`;
}

function summaryOf({tenants, items, bytes, findings}: Checked, dataRead: boolean) {
  return {tenants, items, bytes, findings: findings.length, data_read: dataRead};
}

function sentenceOf({tenants, items, bytes, findings}: Checked, dataRead: boolean): string {
  const what = `${counted(tenants, 'tenant')}, ${counted(items, 'segment')} of ${bytesText(bytes)}`;
  const how = dataRead ? 'all of them were read' : 'lengths were compared; --read-data reads the bytes';
  return `${what}: ${findings.length === 0 ? 'all is well' : counted(findings.length, 'finding')} (${how})`;
}

/** Names in a repository are as safe as what its writer was. */
function print(text: string): void {
  process.stdout.write(`${text.startsWith('{') ? printableJson(text) : printable(text)}\n`);
}
