/**
 * Renames a table. Documents and index entries refer to its number, which stays, and so do ids: it is one write,
 * however many documents there are. The journal has one event for it.
 *
 * An empty table can have the new name already: for clients it does not exist, but it has a row and a number. It gets
 * the old name, as if it had been emptied there.
 */
import {assert} from '../../shared/assert.ts';
import {conflict} from '../../shared/errors.ts';
import type {Writer} from '../commit/writer.ts';
import {cronOfTable} from '../scheduler/named-tables.ts';
import type {Catalog, CatalogTable} from '../storage/catalog.ts';
import {rowChecksum} from '../storage/row-checksum.ts';
import {isThere, noTable, refuseDeployed} from './read.ts';

export type Renaming = {
  readonly table: string;
  readonly to: string;
  /** A pending job that names the table. */
  readonly job: string | undefined;
};

/** @throws op.not_found 404, op.conflict 409 */
export function renameTable(writer: Writer, {table: name, to, job}: Renaming): void {
  const {catalog} = writer;
  const table = catalog.table(name);
  if (table === undefined || !isThere(writer, table)) throw noTable(name);
  const other = catalog.table(to);
  for (const declared of [table, other]) if (declared !== undefined) refuseDeployed(declared);
  if (other !== undefined && isThere(writer, other)) throw conflict(`there is a table ${to}: drop it first`);
  refuseReferences(catalog, [name, to]);
  const cron = cronOfTable(writer.db, name);
  if (cron !== undefined) throw conflict(`the cron ${JSON.stringify(cron)} writes to table ${name}`, {cron});
  if (job !== undefined) throw conflict(`the job ${job} is to write to table ${name}`, {job});
  // Names are unique, so the other table gets the empty name for a moment.
  if (other !== undefined) store(writer, other, '');
  store(writer, table, to);
  if (other !== undefined) store(writer, other, name);
  writer.onRollback(() => catalog.rename(table, name));
  catalog.rename(table, to);
  writer.catalogChanged();
  writer.event({type: 'table.renamed', table: name, to});
}

function store({statements}: Writer, {number, fields, deployed}: CatalogTable, name: string): void {
  const texts = {
    fields: fields === null ? null : JSON.stringify(fields),
    deployed: deployed === null ? null : JSON.stringify(deployed),
  };
  const {changes} = statements.renameTable.run(name, rowChecksum('tables', {number, name, ...texts}), number);
  assert(changes === 1, `table ${number} has a row`);
}

/** The deployment's documents contain, or can contain, ids of this table: they would not fit their schema any more. */
function refuseReferences(catalog: Catalog, names: readonly string[]): void {
  for (const {name, deployed} of catalog.tables()) {
    const named = deployed === null ? undefined : names.find(one => refersTo(deployed.document, one));
    if (named === undefined) continue;
    throw conflict(
      `the active deployment declares ids of table ${named} in table ${name}; change svc/schema.ts and deploy`,
    );
  }
}

function refersTo(validator: unknown, table: string): boolean {
  if (typeof validator !== 'object' || validator === null) return false;
  if ('tableName' in validator && validator.tableName === table) return true;
  return Object.values(validator).some(inner => refersTo(inner, table));
}
