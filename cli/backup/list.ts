/** `svc backup list [TENANT]` shows what a repository has: its tenants, or the points of one of them. */
import {tmpdir} from 'node:os';
import type {Command} from 'commander';
import {gapIn, pointsOf} from '../../copies/repository/plan.ts';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryError} from '../../copies/repository/repository-error.ts';
import type {TenantCopies} from '../../copies/repository/tenant-copies.ts';
import {bytesText} from '../bytes-text.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {listPoints} from '../restore/points.ts';
import {addRepositoryOptions, atRepository, type RepositoryOptions} from './at-repository.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

type Options = RepositoryOptions & {json?: true};

/** What a line says of a tenant. */
type Listed = {
  tenant: string;
  /** Null: it has no point, or its copies cannot be read. */
  oldest: string | null;
  newest: string | null;
  sequence: number | null;
  points: number;
  bytes: number;
  finding: string | null;
};

export function register(backup: Command): void {
  addRepositoryOptions(backup.command('list'))
    .description('show the tenants of a repository, or the points of one')
    .argument('[tenant]', 'only this tenant, with all its points')
    .option('--json', 'one JSON object per line')
    .action((tenant: string | undefined, options: Options) =>
      atRepository('svc backup list', options, repository => list(repository, tenant, options.json === true)),
    );
}

async function list(repository: Repository, tenant: string | undefined, isJson: boolean): Promise<void> {
  if (tenant !== undefined) {
    const wanted = {
      repository,
      tenant,
      target: 'newest',
      timeline: undefined,
      depth: 'quick',
      scratch: tmpdir(),
    } as const;
    const gap = await listPoints(wanted, false, isJson);
    if (gap !== null) throw new CommandFailure(gap.finding, EXIT_PARTIAL);
    return;
  }
  const lost = await repository.lostKeys();
  const names = new Set([...(await repository.tenants()), ...lost.keys()]);
  for (const each of [...names].sort()) {
    const fault = lost.get(each);
    const listed = fault === undefined ? await listedOf(repository, each) : unreadable(each, fault);
    process.stdout.write(isJson ? `${printableJson(JSON.stringify(listed))}\n` : `${printable(lineOf(listed))}\n`);
    if (listed.finding !== null) process.exitCode = EXIT_PARTIAL;
  }
}

async function listedOf(repository: Repository, tenant: string): Promise<Listed> {
  try {
    return described(await repository.copies(tenant));
  } catch (caught) {
    if (!(caught instanceof RepositoryError)) throw caught;
    return unreadable(tenant, caught);
  }
}

function unreadable(tenant: string, {message: finding}: RepositoryError): Listed {
  return {tenant, oldest: null, newest: null, sequence: null, points: 0, bytes: 0, finding};
}

function described(copies: TenantCopies): Listed {
  const {tenant, timelines} = copies;
  const points = timelines.flatMap(pointsOf);
  const items = timelines.flatMap(({bases, sets}) => [...bases, ...sets]);
  const timeOf = (at: number): string | null => {
    const point = points.at(at);
    return point === undefined ? null : new Date(point.timeMs).toISOString();
  };
  return {
    tenant,
    oldest: timeOf(0),
    newest: timeOf(-1),
    sequence: points.at(-1)?.sequence ?? null,
    points: points.length,
    bytes: items.reduce((sum, {bytes}) => sum + bytes, 0),
    finding: gapIn(copies)?.finding ?? null,
  };
}

function lineOf({tenant, oldest, newest, sequence, points, bytes, finding}: Listed): string {
  const what =
    points === 0 ? 'no point' : `${counted(points, 'point')} from ${oldest} to ${newest}, sequence ${sequence}`;
  return `${tenant}: ${what}, ${bytesText(bytes)}${finding === null ? '' : `; ${finding}`}`;
}
