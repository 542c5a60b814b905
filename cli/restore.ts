/**
 * `svc restore TENANT --from REPO --key FILE` makes a tenant's file from a repository, as it was at a time or at a
 * sequence of its journal. `--list` shows the points, `--dry-run` makes and checks the file and removes it, and
 * `--table` prints one table of it. None of these needs a server or changes one.
 */
import {type Command, InvalidArgumentError} from 'commander';
import type {Target} from '../copies/repository/plan.ts';
import type {Repository} from '../copies/repository/repository.ts';
import type {Restored} from '../copies/restore/restore-file.ts';
import {atRepository} from './backup/at-repository.ts';
import {EXIT_PARTIAL} from './backup/exit-codes.ts';
import {bytesText} from './bytes-text.ts';
import {CommandFailure} from './failure.ts';
import {moment} from './option-values.ts';
import {printTable, withFile} from './restore/look.ts';
import type {Wanted} from './restore/make-file.ts';
import {listPoints} from './restore/points.ts';

type Options = {
  from?: string;
  key?: string;
  toTime?: number;
  toSequence?: number;
  timeline?: string;
  list?: true;
  events?: true;
  dryRun?: true;
  table?: string;
  json?: true;
};

export function register(program: Command): void {
  program
    .command('restore')
    .description('make a tenant from a repository of copies, as it was at a time')
    .argument('<tenant>', 'its name in the repository')
    .option('--from <repository>', 'where the copies are (SVC_BACKUP_TO)', process.env.SVC_BACKUP_TO)
    .option('--key <file>', 'the key of the repository (SVC_BACKUP_KEY)', process.env.SVC_BACKUP_KEY)
    .option('--to-time <time>', 'the last point at or before it: 2026-01-31T12:00:00Z, epoch ms, or 20m ago', instant)
    .option('--to-sequence <n>', 'the last point whose journal ends at or before this sequence', sequence)
    .option('--timeline <id>', 'only points of this timeline (--list shows them)')
    .option('--list', 'show the points to which the tenant can be restored, and change nothing')
    .option('--events', 'with --list: also the deploys and bulk tasks, which the newest copy is restored for')
    .option('--dry-run', 'restore into a scratch directory, check the file, and remove it')
    .option('--table <name>', 'print this table of it as JSON lines, and change nothing')
    .option('--json', 'JSON lines')
    .action((tenant: string, options: Options) =>
      atRepository('svc restore', options, repository => restore(repository, tenant, options)),
    );
}

async function restore(repository: Repository, tenant: string, options: Options): Promise<void> {
  const wanted: Wanted = {repository, tenant, target: targetOf(options), timeline: options.timeline};
  if (options.list === true) return list(wanted, options);
  if (options.table !== undefined) return printTable(wanted, options.table);
  const restored = await withFile(wanted, (_, made) => made);
  report(tenant, restored, options);
}

/** @throws CommandFailure */
function targetOf({toTime, toSequence}: Options): Target {
  if (toTime !== undefined && toSequence !== undefined) {
    throw new CommandFailure('--to-time and --to-sequence both say to which point: give one of them', 2);
  }
  if (toTime !== undefined) return {timeMs: toTime};
  return toSequence === undefined ? 'newest' : {sequence: toSequence};
}

async function list(wanted: Wanted, {events, json}: Options): Promise<void> {
  const {unreadable} = await listPoints(wanted, events === true, json === true);
  if (unreadable.length === 0) return;
  const message = `points may be missing: these objects of the repository cannot be read: ${unreadable.join(', ')}`;
  throw new CommandFailure(message, EXIT_PARTIAL);
}

/** Says which point it is, and the next one, because the target can lie between them. */
function report(tenant: string, restored: Restored, {json}: Options): void {
  const {timeline, commit, sequence, timeMs, sets, bytes, next} = restored;
  if (json === true) {
    const record = {tenant, timeline, commit, sequence, time: iso(timeMs), page_sets: sets, bytes};
    process.stdout.write(`${JSON.stringify(record)}\n`);
    return;
  }
  const what = `commit ${commit}, sequence ${sequence}, ${iso(timeMs)}`;
  process.stdout.write(`${tenant} at ${what}: sound (${sets} page sets, ${bytesText(bytes)})\n`);
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

function sequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
