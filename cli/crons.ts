/** `svc crons …` shows and changes the tenant's crons, and its other scheduled work. */
import type {Command} from 'commander';
import type {Cron, CronRun, PastRun, UpcomingWork} from '../shared/protocol/schedule.ts';
import {ALL, listVerb, showList, showVerb, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {ask, type Target} from './project/target.ts';

type Run = CronRun & Partial<Pick<PastRun, 'kind' | 'id'>>;
/** At most this many lines in a list. */
const QUERY = {query: {limit: 100}};

export function register(program: Command): void {
  const crons = program.command('crons').description('manage crons, and list all scheduled work');
  listVerb(crons, 'list', ALL, async target => (await ask(target, 'crons.list', [], QUERY)).crons, lineOf);
  listVerb(
    crons,
    'scheduled',
    'list jobs and crons, of the native API and of functions, the next one first',
    async target => (await ask(target, 'schedule.all', [], QUERY)).scheduled,
    workText,
  );
  listVerb(
    crons,
    'history [name]',
    'list the newest runs of one; without a name, of all jobs and crons',
    runs,
    runText,
  );
  showVerb(crons, 'show <name>', async (target, name) => (await ask(target, 'crons.get', [name])).cron);
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    const what = enabled ? 'let one run again from its next tick' : 'stop one from running';
    subcommand(crons, `${verb} <name>`, what, async (target, _, name) => {
      showList([(await ask(target, 'crons.patch', [name!], {body: {enabled}})).cron], false, lineOf);
    });
  }
  subcommand(crons, 'run <name>', 'run one now; fails if its work fails', async (target, _, name) => {
    const {run} = await ask(target, 'crons.run', [name!], {repeat: 'once'});
    if (run.error !== null) throw new CommandFailure(run.error, 1);
    process.stdout.write(`${run.outcome}\n`);
  });
  subcommand(crons, 'next <name>', 'print when one is due next', async (target, _, name) => {
    const {times} = await ask(target, 'crons.next', [name!]);
    process.stdout.write(times.map(time => `${timeText(time)}\n`).join(''));
  });
  subcommand(crons, 'retry <job>', 'do the work of a failed job again, as a new job', async (target, _, job) => {
    const {job_id: id} = await ask(target, 'schedule.retry', [job!], {repeat: 'keyed'});
    process.stdout.write(`${id}\n`);
  });
  subcommand(crons, 'delete <name>', 'delete one with its history', async (target, _, name) => {
    await ask(target, 'crons.delete', [name!]);
    process.stdout.write(`deleted ${name}\n`);
  });
}

async function runs(target: Target, name?: string): Promise<Run[]> {
  if (name === undefined) return (await ask(target, 'schedule.history', [], QUERY)).runs;
  return (await ask(target, 'crons.history', [name], QUERY)).runs;
}

function workText({due, kind, id, function: path, type, table}: UpcomingWork): string {
  return `${due === null ? 'not enabled' : timeText(due)}  ${kind}  ${id}  ${path ?? `${type} ${table}`}`;
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
