/** Table schemas. */
import type {Operation} from '../../shared/operations.ts';
import {TableSchema} from '../../shared/protocol/schema.ts';
import {allSchemasText, schemaText} from '../schema/read.ts';
import {bodyType, decodeBody} from '../wire-type.ts';
import {type Handlers, json} from './answer.ts';
import {doneAfter} from './written.ts';

const tableSchemaBody = bodyType<'schema.put'>(TableSchema);

export const schema: Handlers<Extract<Operation, `schema.${string}` | 'tables.list'>> = {
  'schema.all': (_, {reader, catalog}) => {
    reader.inSnapshot();
    return allSchemasText(catalog);
  },
  'schema.get': ({params}, {reader, catalog}) => {
    reader.inSnapshot();
    return schemaText(catalog, params.table);
  },
  'schema.put': ({params, body}, {schemas}) => {
    const {table, fields, indexes = []} = decodeBody(tableSchemaBody, body);
    return doneAfter(schemas.put(params.table, {table, fields, indexes}));
  },
  'schema.delete': ({params}, {schemas}) => doneAfter(schemas.delete(params.table)),
  'tables.list': async (_, {tables}) => json<'tables.list'>({tables: await tables.read()}),
};
