/** The indexes of a schema as a PUT sends them: without what only the server knows. */
import type {IndexEntry, StoredTableSchema} from '../../../shared/protocol/schema.ts';

export function declaredIndexes(schema: StoredTableSchema | null): IndexEntry[] {
  return (schema?.indexes ?? []).map(({name, fields, unique}) => ({
    name,
    fields,
    ...(unique === undefined ? {} : {unique}),
  }));
}
