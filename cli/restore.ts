/**
 * `svc restore TENANT --from REPO --key FILE` makes a tenant from a repository, as it was at a time or at a sequence of
 * its journal, in the data directory of a stopped server. `--list` shows the points, `--dry-run` makes and checks the
 * file and removes it, and `--table` prints one table of it: these change nothing.
 */
import {type Command, InvalidArgumentError, Option} from 'commander';
import type {Target} from '../copies/repository/plan.ts';
import type {Repository} from '../copies/repository/repository.ts';
import type {Restored} from '../copies/restore/restore-file.ts';
import type {CheckDepth} from '../engine/verify/check-file.ts';
import type {BackupGap} from '../shared/protocol/backups.ts';
import {addRepositoryOptions, atRepository, type RepositoryOptions} from './backup/at-repository.ts';
import {EXIT_PARTIAL} from './backup/exit-codes.ts';
import {bytesText} from './bytes-text.ts';
import {counted} from './counted.ts';
import {CommandFailure} from './failure.ts';
import {moment} from './option-values.ts';
import {printable} from './printable.ts';
import {follow} from './restore/follow.ts';
import {type Looked, printTable, withFile} from './restore/look.ts';
import {inDataDirectory, placeTenant} from './restore/place.ts';
import {type Listing, listPoints} from './restore/points.ts';
import {addScratchOption} from './restore/scratch.ts';
import {sendTenant} from './restore/send.ts';
import {restoreAll} from './restore/whole-host.ts';
import {TransientLine} from './transient-line.ts';

/** What was compared, or read, of the restored file. */
const CHECKED: Record<CheckDepth, readonly string[]> = {
  quick: ['pages', 'identity', 'structure', 'newest record'],
  full: ['pages', 'identity', 'structure', 'journal', 'documents', 'indexes', 'code'],
};

const URL_DEFAULT = 'http://127.0.0.1:3210';

type Options = RepositoryOptions & {
  toTime?: number;
  toSequence?: number;
  timeline?: string;
  data: string;
  url: string;
  as?: string;
  replace?: true;
  live?: true;
  all?: true;
  follow?: true;
  every: number;
  list?: true;
  events?: true;
  dryRun?: true;
  verify?: true;
  scratch: string;
  table?: string;
  json?: true;
};

export function register(program: Command): void {
  addScratchOption(addRepositoryOptions(program.command('restore')))
    .description('make a tenant from a repository of copies, as it was at a time')
    .argument('[tenant]', 'its name in the repository')
    .option('--to-time <time>', 'the last point at or before it: 2026-01-31T12:00:00Z, epoch ms, or 20m ago', instant)
    .option('--to-sequence <n>', 'the last point whose journal ends at or before this sequence', sequence)
    .option('--timeline <id>', 'only points of this timeline (--list shows them)')
    .option('--data <directory>', 'where it becomes a tenant (SVC_DATA)', process.env.SVC_DATA ?? './data')
    .addOption(new Option('--url <url>', 'the server that runs on it, if one does').default(URL_DEFAULT).env('SVC_URL'))
    .option('--as <id>', 'the id of the restored tenant; otherwise that in the repository')
    .option('--replace', 'in place of the tenant of that id, whose directory goes to set-aside/ for seven days')
    .option('--live', 'serve it at once; otherwise it is paused and answers reads')
    .option('--all', 'all tenants, keys and the audit log of a lost host, into an empty data directory')
    .option('--follow', 'keep an empty data directory warm until it ends; svc promote makes it one of a server')
    .option('--every <time>', 'with --follow: how often it looks for new copies, such as 1s or 5m', duration, 1_000)
    .option('--list', 'show the points to which the tenant can be restored, and change nothing')
    .option(
      '--events',
      'with --list: deploys and bulk tasks from the newest copy, which is restored for it, not from the audit log',
    )
    .option('--dry-run', 'restore into a scratch directory, check the file, and remove it')
    .option('--verify', 'check every record, document and index entry too, as svc verify does')
    .option('--table <name>', 'print this table of it as JSON lines, and change nothing')
    .option('--json', 'JSON lines')
    .action((tenant: string | undefined, options: Options) =>
      atRepository('svc restore', options, repository => {
        const {all, follow: follows} = options;
        const wholes = [all, follows].filter(given => given === true).length;
        if (wholes === 0 && tenant !== undefined) return restore(repository, tenant, options);
        if (wholes !== 1 || tenant !== undefined) {
          throw new CommandFailure('give the name of a tenant, or --all, or --follow', 2);
        }
        return all === true ? restoreHost(repository, options) : followRepository(repository, options);
      }),
    );
}

async function restoreHost(repository: Repository, options: Options): Promise<void> {
  const {data} = options;
  const line = new TransientLine();
  const placed = await inDataDirectory(data, owned =>
    restoreAll(
      owned,
      repository,
      {target: targetOf(options), depth: depthOf(options), live: options.live === true},
      (tenant, done, total) => line.show(`restoring ${tenant} (${done + 1} of ${total}) …`),
    ),
  ).finally(() => line.clear());
  if (placed === null) throw inUse(data);
  const {restored, without, deleted, failed, older, state} = placed.done;
  if (options.json === true) process.stdout.write(`${JSON.stringify(placed.done)}\n`);
  else {
    process.stdout.write(`restored ${counted(restored.length, 'tenant')} into ${data}\n`);
    if (state.length > 0) process.stdout.write(`files of the server: ${state.join(', ')}\n`);
    for (const tenant of without) process.stdout.write(`${tenant}: had no copy then\n`);
    for (const tenant of deleted) process.stdout.write(`${tenant}: was deleted; svc restore ${tenant} restores it\n`);
    if (options.live !== true) process.stdout.write('they are paused and answer reads: svc tenants resume ID\n');
  }
  const faults = [
    ...older.map(({tenant, gap}) => `${tenant}: ${gap.finding}`),
    ...(failed.length === 0 ? [] : ['these tenants could not be restored; a second run tries them again:']),
    ...failed.map(({tenant, reason}) => `  ${tenant}: ${reason}`),
  ];
  if (faults.length > 0) throw new CommandFailure(faults.join('\n'), EXIT_PARTIAL);
}

async function followRepository(repository: Repository, {data, from, key, every: everyMs}: Options): Promise<void> {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  const placed = await inDataDirectory(data, owned =>
    follow(owned, repository, {from: from!, key: key!, everyMs, signal: ended.signal}, line =>
      process.stdout.write(`${printable(line)}\n`),
    ),
  );
  if (placed === null) throw inUse(data);
}

function inUse(data: string): CommandFailure {
  return new CommandFailure(`a server runs on the data directory ${data}: stop it first`);
}

async function restore(repository: Repository, tenant: string, options: Options): Promise<void> {
  const wanted: Listing = {
    repository,
    tenant,
    target: targetOf(options),
    depth: depthOf(options),
    timeline: options.timeline,
    scratch: options.scratch,
  };
  const gap = await restoredFor(wanted, options);
  // An older state than was stored is no success.
  if (gap !== null) throw new CommandFailure(gap.finding, EXIT_PARTIAL);
}

async function restoredFor(wanted: Listing, options: Options): Promise<BackupGap | null> {
  if (options.list === true) return listPoints(wanted, options.events === true, options.json === true);
  if (options.table !== undefined) return (await printTable(wanted, options.table))?.gap ?? null;
  if (options.dryRun !== true) return place(wanted, options);
  const restored = await withFile(wanted, (_, made) => made);
  report(wanted.tenant, restored, options);
  return restored.gap;
}

async function place(wanted: Looked, options: Options): Promise<BackupGap | null> {
  const {data} = options;
  const placing = {as: options.as ?? wanted.tenant, replace: options.replace === true, live: options.live === true};
  const placed = await inDataDirectory(data, server => placeTenant(server, wanted, placing));
  const restored = placed === null ? await sendTenant(wanted, placing, options) : placed.done;
  report(placing.as, restored, options);
  if (options.json === true) return restored.gap;
  const {as, live} = placing;
  const resume = `svc tenants resume ${as}`;
  process.stdout.write(live ? `${as} is live\n` : `${as} is paused and answers reads: ${resume} makes it live\n`);
  return restored.gap;
}

function depthOf({verify}: Options): CheckDepth {
  return verify === true ? 'full' : 'quick';
}

/** @throws CommandFailure */
function targetOf({toTime, toSequence}: Options): Target {
  if (toTime !== undefined && toSequence !== undefined) {
    throw new CommandFailure('--to-time and --to-sequence both say to which point: give one of them', 2);
  }
  if (toTime !== undefined) return {timeMs: toTime};
  return toSequence === undefined ? 'newest' : {sequence: toSequence};
}

/** Says which point it is, and the next one, because the target can lie between them. */
function report(tenant: string, restored: Restored, options: Options): void {
  const {timeline, commit, sequence, timeMs, sets, bytes, next, gap} = restored;
  const checked = CHECKED[depthOf(options)];
  if (options.json === true) {
    const record = {tenant, timeline, commit, sequence, time: iso(timeMs), page_sets: sets, bytes, checked, gap};
    process.stdout.write(`${JSON.stringify(record)}\n`);
    return;
  }
  const what = `commit ${commit}, sequence ${sequence}, ${iso(timeMs)}`;
  process.stdout.write(
    `${tenant} at ${what}: ${counted(sets, 'page set')}, ${bytesText(bytes)}; checked: ${checked.join(', ')}\n`,
  );
  if (next !== null) {
    process.stdout.write(`the next point is commit ${next.last}, sequence ${next.sequence}, ${iso(next.timeMs)}\n`);
  }
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Epoch milliseconds. */
function instant(text: string): number {
  return /^\d{11,14}$/.test(text) ? Number(text) : moment(text);
}

/** Milliseconds. */
function duration(text: string): number {
  const parts = /^(\d{1,6})(ms|s|m)$/.exec(text);
  if (parts !== null)
    return Math.max(100, Number(parts[1]) * {ms: 1, s: 1_000, m: 60_000}[parts[2] as 'ms' | 's' | 'm']);
  throw new InvalidArgumentError('It must be like 500ms, 1s or 5m.');
}

function sequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
