/** Pending work of the tenant that would fail if a deployment were active. */
import {cronInserts} from '../../../engine/scheduler/named-tables.ts';
import {shownViolation} from '../../../engine/schema/document-check.ts';
import type {Catalog} from '../../../engine/storage/catalog.ts';
import type {Reader} from '../../../engine/storage/reader.ts';
import type {ActivationPreview, FunctionEntry, SchemaDefinition} from '../../../shared/protocol/functions.ts';

/** @param jobs number of pending jobs by the function that they call */
export function missingFunctions(
  jobs: ReadonlyMap<string, number>,
  functions: readonly FunctionEntry[],
): ActivationPreview['missing_functions'] {
  const runnable = new Set(functions.flatMap(({path, kind}) => (kind === 'mutation' ? [path] : [])));
  return [...jobs]
    .flatMap(([path, count]) => (runnable.has(path) ? [] : [{path, jobs: count}]))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Enabled crons that insert documents which the schema refuses. */
export function failingCrons(
  reader: Reader,
  catalog: Catalog,
  schema: SchemaDefinition | null,
): ActivationPreview['failing_crons'] {
  if (schema === null) return [];
  const tables = new Map(schema.tables.map(table => [table.name, table]));
  return cronInserts(reader).flatMap(({name, table, fields}) => {
    const wanted = tables.get(table);
    if (wanted === undefined) return [];
    const check = catalog.compileDeployed({...wanted, isChecked: schema.schemaValidation});
    const violation = check?.(fields) ?? null;
    return violation === null ? [] : [{name, message: shownViolation(violation)}];
  });
}
