/** `svc crons …` shows and changes the tenant's crons, and its other scheduled work. */
import type {Command} from 'commander';
import type {Cron, CronRun, PastRun, UpcomingWork} from '../shared/protocol/schedule.ts';
import {showList, showRecord, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {pathOf, type Target, type TargetOptions} from './project/target.ts';

type ListOptions = TargetOptions & {json?: true};
type Run = CronRun & Partial<Pick<PastRun, 'kind' | 'id'>>;
/** Number of lines in a list. */
const LINES = 100;

export function register(program: Command): void {
  const crons = program.command('crons').description('work that repeats, and all else that is scheduled');
  list<Cron>('list', 'all of them, a line each', target => [pathOf(target, 'crons'), 'crons'], lineOf);
  list<UpcomingWork>(
    'scheduled',
    'jobs and crons, of the native API and of functions, the next one first',
    target => [pathOf(target, 'scheduled'), 'scheduled'],
    ({due, kind, id, function: path, type, table}) =>
      `${due === null ? 'not enabled' : timeText(due)}  ${kind}  ${id}  ${path ?? `${type} ${table}`}`,
  );
  list<Run>(
    'history [name]',
    'the newest runs of one; without a name, of all jobs and crons',
    (target, name) => [
      name === undefined ? pathOf(target, 'scheduled', 'history') : pathOf(target, 'crons', name, 'history'),
      'runs',
    ],
    runText,
  );
  subcommand(crons, 'show <name>', 'the record of one', async (target, _, name) => {
    showRecord((await target.client.json<{cron: Cron}>('GET', pathOf(target, 'crons', name!))).cron);
  });
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    const what = enabled ? 'let one run again, from its next tick on' : 'keep one from running';
    subcommand(crons, `${verb} <name>`, what, async (target, _, name) => {
      const {cron} = await target.client.json<{cron: Cron}>('PATCH', pathOf(target, 'crons', name!), {enabled});
      showList([cron], false, lineOf);
    });
  }
  subcommand(crons, 'run <name>', 'run one now; fails if its work does', async (target, _, name) => {
    const {run} = await target.client.jsonOnce<{run: CronRun}>('POST', pathOf(target, 'crons', name!, 'run'), {});
    if (run.error !== null) throw new CommandFailure(run.error, 1);
    process.stdout.write(`${run.outcome}\n`);
  });
  subcommand(crons, 'delete <name>', 'forget one, with its history', async (target, _, name) => {
    await target.client.json('DELETE', pathOf(target, 'crons', name!));
    process.stdout.write(`deleted ${name}\n`);
  });

  function list<Entry extends object>(
    usage: string,
    description: string,
    from: (target: Target, name?: string) => [path: string, member: string],
    text: (entry: Entry) => string,
  ): void {
    subcommand<ListOptions>(
      crons,
      usage,
      description,
      async (target, {json}, name) => {
        const [path, member] = from(target, name);
        const answer = await target.client.json<Record<string, Entry[]>>('GET', `${path}?limit=${LINES}`);
        showList(answer[member]!, json === true, text);
      },
      command => command.option('--json', 'a record a line, as JSON'),
    );
  }
}

function lineOf({name, schedule, enabled, next_run: next, failures}: Cron): string {
  const rhythm =
    schedule.type === 'interval' ? `every ${schedule.seconds} s` : `${schedule.expression} (${schedule.time_zone})`;
  const failing = failures === 0 ? '' : `  ${failures} failed in a row`;
  return `${name}  ${rhythm}  ${enabled ? `next ${timeText(next)}` : 'not enabled'}${failing}`;
}

function runText({ran_at: ranAt, kind, id, due, outcome, error}: Run): string {
  const which = id === undefined ? '' : `  ${kind}  ${id}`;
  return `${timeText(ranAt)}${which}  ${outcome}${due === null ? ', asked for' : ''}${error === null ? '' : `  ${error}`}`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
