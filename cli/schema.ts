/** `svc schema get|indexes|set|delete` manages the schemas of tables that no deployed function declares. */
import type {Command} from 'commander';
import type {AnswerOf, BodyOf} from '../shared/operation-types.ts';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {jsonIn, listVerb, showRecord, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {ask, type TargetOptions} from './project/target.ts';

export function register(program: Command): void {
  const schema = program.command('schema').description('fields and indexes of tables');
  subcommand(schema, 'get [table]', 'print that of a table, or of all tables', async (target, _, table) => {
    showRecord(await (table === undefined ? ask(target, 'schema.all', []) : ask(target, 'schema.get', [table])));
  });
  listVerb(
    schema,
    'indexes',
    'list all indexes: how far they are built, and when queries last read them',
    async target => (await ask(target, 'schema.indexes', [])).indexes,
    indexText,
    'index',
  );
  subcommand(
    schema,
    'set <file>',
    'set that of a table, from JSON with table, fields and indexes (-: standard input)',
    async (target, _, file) => {
      const wanted = await jsonIn<BodyOf<'schema.put'> & {table?: unknown}>(file!);
      const {table} = wanted ?? {};
      if (typeof table !== 'string')
        throw new CommandFailure(
          `${file}: "table" must name the table: {"table": "notes", "fields": [], "indexes": []}`,
        );
      await ask(target, 'schema.put', [table], {body: wanted});
      showRecord(await ask(target, 'schema.get', [table]));
    },
  );
  subcommand<TargetOptions & ConfirmOptions>(
    schema,
    'delete <table>',
    'delete that of a table with its indexes; documents stay',
    async (target, options, table) => {
      await confirm(`this deletes the schema and all indexes of ${table}`, table!, options, 'terminal');
      await ask(target, 'schema.delete', [table!]);
      process.stdout.write(`deleted the schema of ${table}\n`);
    },
    addYesOption,
  );
}

function indexText({
  table,
  name,
  fields,
  state,
  built,
  last_read_at: last,
}: AnswerOf<'schema.indexes'>['indexes'][number]) {
  const progress = state === 'building' ? ` ${Math.floor((built ?? 0) * 100)} %` : '';
  const read = last === null ? 'not read since the worker started' : `read ${new Date(last).toISOString()}`;
  return `${table}.${name} (${fields.join(', ')})  ${state}${progress}  ${read}`;
}
