/** `svc schema get|set|delete` manages the schemas of tables that no deployed function declares. */
import type {Command} from 'commander';
import {addYesOption, type ConfirmOptions, confirm} from './confirm.ts';
import {jsonIn, showRecord, subcommand} from './control.ts';
import {CommandFailure} from './failure.ts';
import {pathOf, type TargetOptions} from './project/target.ts';

export function register(program: Command): void {
  const schema = program.command('schema').description('fields and indexes of tables');
  subcommand(schema, 'get [table]', 'show that of a table, or of all', async (target, _, table) => {
    showRecord(await target.client.json('GET', pathOf(target, 'schema', ...(table === undefined ? [] : [table]))));
  });
  subcommand(
    schema,
    'set <file>',
    'set that of a table, from JSON with table, fields and indexes (-: standard input)',
    async (target, _, file) => {
      const wanted = await jsonIn(file!);
      const {table} = (typeof wanted === 'object' && wanted !== null ? wanted : {}) as {table?: unknown};
      if (typeof table !== 'string')
        throw new CommandFailure(
          `${file}: "table" must name the table: {"table": "notes", "fields": [], "indexes": []}`,
        );
      await target.client.json('PUT', pathOf(target, 'schema', table), wanted);
      showRecord(await target.client.json('GET', pathOf(target, 'schema', table)));
    },
  );
  subcommand<TargetOptions & ConfirmOptions>(
    schema,
    'delete <table>',
    'delete that of a table with its indexes; documents stay',
    async (target, options, table) => {
      await confirm(`this deletes the schema and all indexes of ${table}`, table!, options, 'terminal');
      await target.client.json('DELETE', pathOf(target, 'schema', table!));
      process.stdout.write(`deleted the schema of ${table}\n`);
    },
    addYesOption,
  );
}
