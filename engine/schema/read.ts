/** Table schemas as clients see them. GET /api/tenants/{tenant_id}/schema and …/schema/{table} */
import {conflict, notFound, type ServiceError} from '../../shared/errors.ts';
import type {FieldEntry, FieldType, StoredIndex, StoredTableSchema} from '../../shared/protocol/schema.ts';
import type {ValidatorJson} from '../../shared/values/validator.ts';
import type {Writer} from '../commit/writer.ts';
import type {Catalog, CatalogTable, DeployedTable} from '../storage/catalog.ts';
import {checkTableName} from '../storage/document.ts';

export function storedSchema(table: CatalogTable): StoredTableSchema | null {
  const fields = table.deployed === null ? table.fields : nativeFields(table.deployed);
  if (fields === null) return null;
  const indexes: StoredIndex[] = [];
  for (const {number, name, fields: paths, state, isUnique, duplicates} of table.indexes) {
    if (state === 'dropping') continue;
    const index: StoredIndex = {id: `index_${number}`, name, fields: paths, state};
    if (isUnique) index.unique = true;
    if (state === 'failed') index.failure = {offenders: [...duplicates]};
    indexes.push(index);
  }
  return {table: table.name, fields, indexes};
}

/** The table's schema is new or has other indexes: followers of the journal get an event. */
export function schemaEvent(writer: Writer, table: CatalogTable): void {
  const stored = storedSchema(table);
  if (stored === null) return;
  const indexes = stored.indexes.map(({state: _, failure: __, ...definition}) => definition);
  writer.event({type: 'schema.set', table: table.name, schema: {...stored, indexes}});
}

/** The fields that a deployment declares, as far as native types can express them. */
function nativeFields({document}: DeployedTable): FieldEntry[] {
  if (document.type !== 'object') return [];
  return Object.entries(document.value).map(([name, {fieldType, optional}]) => ({
    name,
    field_type: NATIVE_TYPES[fieldType.type] ?? 'any',
    required: !optional,
  }));
}

const NATIVE_TYPES: Partial<Record<ValidatorJson['type'], FieldType>> = {
  string: 'string',
  id: 'string',
  number: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
};

/** `{"tables": {<table>: table schema}}`; tables without a schema are left out. */
export function allSchemasText(catalog: Catalog): string {
  const entries: string[] = [];
  for (const table of catalog.tables()) {
    const schema = storedSchema(table);
    if (schema !== null) entries.push(`"${table.name}":${JSON.stringify(schema)}`);
  }
  return `{"tables":{${entries.join(',')}}}`;
}

/** @throws op.invalid_input 400 for an invalid table name, op.not_found 404 when the table has no schema */
export function schemaText(catalog: Catalog, name: string): string {
  checkTableName(name);
  const table = catalog.table(name);
  const schema = table === undefined ? null : storedSchema(table);
  if (schema === null) throw noSchema(name);
  return JSON.stringify(schema);
}

export function noSchema(name: string): ServiceError {
  return notFound(`table ${name} has no schema`);
}

export function noTable(name: string): ServiceError {
  return notFound(`there is no table ${name}`);
}

/** An empty table without a schema does not exist for clients, even if it has a number. */
export function isThere(writer: Writer, table: CatalogTable): boolean {
  return table.fields !== null || table.deployed !== null || hasDocuments(writer, table);
}

export function hasDocuments({statements}: Writer, {info}: CatalogTable): boolean {
  return statements.documentsFrom.get(info.lowDoc, info.highDoc, 1) !== undefined;
}

/** @throws op.conflict 409 when the active deployment declares the table */
export function refuseDeployed(table: CatalogTable): void {
  if (table.deployed === null) return;
  throw conflict(`table ${table.name} belongs to the schema of the active deployment; change svc/schema.ts and deploy`);
}
