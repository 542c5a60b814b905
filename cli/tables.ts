/** `svc tables …` drops and renames a tenant's tables. */
import {setTimeout as delay} from 'node:timers/promises';
import type {Command} from 'commander';
import type {Task} from '../shared/protocol/tasks.ts';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {listVerb, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {TASK_POLL_MS} from './limits.ts';
import {ask, type Target, type TargetOptions} from './project/target.ts';
import {TransientLine} from './transient-line.ts';

export function register(program: Command): void {
  const tables = program.command('tables').description('list, drop and rename the tables of a tenant');
  listVerb(
    tables,
    'list',
    'list all, with their numbers of documents',
    async target => (await ask(target, 'tables.list', [])).tables,
    ({name, documents}) => `${name}: ${documents} documents`,
    'table',
  );
  subcommand<TargetOptions & ConfirmOptions & {wait: boolean}>(
    tables,
    'drop <table>',
    'delete all documents of one, then its schema and indexes; the server continues even if this command ends',
    async (target, {wait, ...options}, table) => {
      await confirm(`this deletes all documents of ${table}`, table!, options, 'terminal');
      const {id} = await ask(target, 'tables.drop', [table!], {repeat: 'keyed'});
      if (!wait) process.stdout.write(`${id}\n`);
      else process.stdout.write(`dropped ${table}: ${(await ended(target, id)).changed} documents\n`);
    },
    command => addYesOption(command).option('--no-wait', 'print the id of the task and do not wait for it'),
  );
  subcommand(tables, 'rename <table> <to>', 'rename one; documents keep their ids', async (target, _, table, to) => {
    await ask(target, 'tables.rename', [table!], {body: {to: to!}, repeat: 'keyed'});
    process.stdout.write(`renamed ${table} to ${to}\n`);
  });
}

/** @throws CommandFailure if it did not complete */
async function ended(target: Target, id: string): Promise<Task> {
  const progress = new TransientLine();
  for (;;) {
    const {task} = await ask(target, 'tasks.get', [id]);
    progress.clear();
    if (task.state === 'completed') return task;
    if (task.state !== 'running') {
      const why = task.errors.map(({message}) => `: ${message}`).join('');
      throw new CommandFailure(`the task ${id} was ${task.state} after ${task.changed} documents${why}`, 1);
    }
    progress.show(`${task.changed.toLocaleString('en-US')} documents deleted …`);
    await delay(TASK_POLL_MS);
  }
}
