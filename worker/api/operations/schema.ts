/** Handlers for table schemas. */

import type {Writer} from '../../../engine/commit/writer.ts';
import {indexList} from '../../../engine/schema/index-list.ts';
import {allSchemasText, schemaText} from '../../../engine/schema/read.ts';
import {bodyType, decodeBody} from '../../../engine/wire-type.ts';
import type {Operation} from '../../../shared/operations.ts';
import {RenameBody, TableSchema} from '../../../shared/protocol/schema.ts';
import {causeOf} from '../../ipc/decode.ts';
import {done, doneAfter, guardedByKey, type Handlers, json, read} from './answer.ts';
import {tenantLimits} from './tenant-limits.ts';

const renameBody = bodyType<'tables.rename'>(RenameBody);
const tableSchemaBody = bodyType<'schema.put'>(TableSchema);

export const schema: Handlers<Extract<Operation, `schema.${string}` | 'tables.list' | 'tables.rename' | 'limits.get'>> =
  {
    'schema.all': read((_, {catalog}) => allSchemasText(catalog)),
    'schema.indexes': read((_, {catalog, reader}) => json<'schema.indexes'>(indexList(catalog, reader.db))),
    'schema.get': read(({params}, {catalog}) => schemaText(catalog, params.table)),
    'schema.put': (request, {schemas, tasks}) => {
      const {params, body} = request;
      const {table, fields, indexes = []} = decodeBody(tableSchemaBody, body);
      const also = (writer: Writer) => tasks.schemaSet(writer, table);
      return doneAfter(schemas.put(params.table, {table, fields, indexes}, also, causeOf(request)));
    },
    'schema.delete': (request, {schemas}) => doneAfter(schemas.delete(request.params.table, causeOf(request))),
    'tables.rename': (request, {groups, schemas, tasks, imports}) => {
      const {table} = request.params;
      const {to} = decodeBody(renameBody, request.body);
      const write = async (change: (writer: Writer) => void): Promise<void> => {
        const renamed = done(writer => {
          tasks.refuseRunning(writer, [table, to]);
          imports.refuseUnderWay([table, to]);
          change(writer);
        });
        await groups.perform(guardedByKey(request, renamed), causeOf(request));
      };
      return doneAfter(schemas.rename(table, to, write));
    },
    'limits.get': (_, {use}) => json<'limits.get'>({limits: tenantLimits(use())}),
    'tables.list': async (_, {tables}) => json<'tables.list'>({tables: await tables.read()}),
  };
