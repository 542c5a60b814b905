/** `svc data [TABLE]`: the tables of a tenant, or the documents of one. */
import {type Command, InvalidArgumentError, Option} from 'commander';
import {reportFailure} from './failure.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {limit: number; order: 'asc' | 'desc'; format: 'json' | 'jsonl' | 'pretty'};
type Document = Record<string, unknown>;

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
  const {tables} = await target.client.json<{tables: {name: string; documents: number}[]}>(
    'GET',
    pathOf(target, 'tables'),
  );
  if (format !== 'pretty') print(tables, format);
  else if (tables.length === 0) process.stdout.write('there are no tables yet\n');
  else for (const {name, documents} of tables) process.stdout.write(`${name}: ${documents} documents\n`);
}

async function showDocuments(target: Target, table: string, {limit: most, order, format}: Options): Promise<void> {
  const {data} = await target.client.json<{data: Document[]}>('POST', pathOf(target, 'query'), {
    table,
    filters: [],
    order: {field: '_creationTime', direction: order},
    limit: most,
  });
  print(data, format);
}

function print(rows: readonly object[], format: Options['format']): void {
  if (format === 'json') process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (format === 'jsonl') for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  else for (const row of rows) process.stdout.write(`${JSON.stringify(row, null, 2)}\n`);
}

function limit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}
