/** Table schemas as clients see them. GET /api/tenants/{tenant_id}/schema and …/schema/{table} */
import {ServiceError} from '../../shared/errors.ts';
import type {StoredIndex, StoredTableSchema} from '../../shared/protocol/schema.ts';
import {checkTableName} from '../documents/table-name.ts';
import type {Catalog, CatalogTable} from '../storage/catalog.ts';

export function storedSchema(table: CatalogTable): StoredTableSchema | null {
  if (table.fields === null) return null;
  const indexes: StoredIndex[] = [];
  for (const {number, name, fields, state} of table.indexes) {
    if (state !== 'dropping') indexes.push({id: `index_${number}`, name, fields, state});
  }
  return {table: table.name, fields: table.fields, indexes};
}

/** `{"tables": {<table>: table schema}}`; tables without a schema are not in it. */
export function allSchemasText(catalog: Catalog): string {
  const entries: string[] = [];
  for (const table of catalog.tables()) {
    const schema = storedSchema(table);
    if (schema !== null) entries.push(`"${table.name}":${JSON.stringify(schema)}`);
  }
  return `{"tables":{${entries.join(',')}}}`;
}

/** @throws op.invalid_input 400 for what cannot be a table, op.not_found 404 when the table has no schema */
export function schemaText(catalog: Catalog, name: string): string {
  checkTableName(name);
  const table = catalog.table(name);
  const schema = table === undefined ? null : storedSchema(table);
  if (schema === null) throw noSchema(name);
  return JSON.stringify(schema);
}

export function noSchema(name: string): ServiceError {
  return new ServiceError('op.not_found', `table ${name} has no schema`);
}
