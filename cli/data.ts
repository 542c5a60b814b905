/** `svc data [TABLE]` shows the tables of a tenant, or the documents of one. */
import {type Command, InvalidArgumentError, Option} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {printableJson} from './printable.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {limit: number; order: 'asc' | 'desc'; format: 'json' | 'jsonl' | 'pretty'};

export function register(program: Command): void {
  const command = program
    .command('data')
    .description('show the tables of a tenant, or the documents of one')
    .argument('[table]')
    .addOption(new Option('--limit <count>', 'documents at most').argParser(limit).default(100))
    .addOption(
      new Option('--order <order>', 'by creation; desc: newest first').choices(['asc', 'desc']).default('desc'),
    )
    .addOption(new Option('--format <format>').choices(['json', 'jsonl', 'pretty']).default('pretty'));
  addTargetOptions(command).action((table: string | undefined, options: Options) =>
    reportFailure('svc data', () =>
      withTarget(options, target =>
        table === undefined ? showTables(target, options) : showDocuments(target, table, options),
      ),
    ),
  );
}

async function showTables(target: Target, {format}: Options): Promise<void> {
  const {tables} = await ask(target, 'tables.list', []);
  if (format !== 'pretty') print(tables, format);
  else if (tables.length === 0) process.stdout.write('there are no tables yet\n');
  else for (const {name, documents} of tables) process.stdout.write(`${name}: ${documents} documents\n`);
}

async function showDocuments(target: Target, table: string, {limit: most, order, format}: Options): Promise<void> {
  const body = {table, filters: [], order: {field: '_creationTime', direction: order}, limit: most};
  const {data} = await ask(target, 'query.run', [], {body});
  if (data.length === 0) await requireTable(target, table);
  print(data, format);
}

/** A missing table has no documents either, so a mistyped name must not look like an empty table. */
async function requireTable(target: Target, table: string): Promise<void> {
  const {tables} = await ask(target, 'tables.list', []);
  if (tables.some(({name}) => name === table)) return;
  const known = tables.length === 0 ? 'there are none yet' : `there are ${tables.map(({name}) => name).join(', ')}`;
  throw new CommandFailure(`there is no table ${table}; ${known}`);
}

function print(rows: readonly object[], format: Options['format']): void {
  const write = (value: unknown, indent = 0) =>
    void process.stdout.write(`${printableJson(JSON.stringify(value, null, indent))}\n`);
  if (format === 'json') write(rows, 2);
  else for (const row of rows) write(row, format === 'jsonl' ? 0 : 2);
}

function limit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}
