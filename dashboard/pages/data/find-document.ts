/** Finds the table of a document by its id alone: ids do not name their table, so all tables are searched, many at once. */
import {BATCH_QUERIES_MAX} from '../../../shared/limits.ts';
import {call} from '../../api/client.ts';

export async function findDocument(
  tenant: string,
  id: string,
  tables: readonly {readonly name: string}[],
): Promise<string | null> {
  for (let at = 0; at < tables.length; at += BATCH_QUERIES_MAX) {
    const some = tables.slice(at, at + BATCH_QUERIES_MAX);
    const queries = some.map(({name}) => ({
      table: name,
      filters: [{field: '_id', op: 'eq' as const, value: id}],
      select: [],
    }));
    const {results} = await call('query.batch', {tenant, body: {queries}});
    const found = results.findIndex(result => 'data' in result && result.data.length > 0);
    if (found !== -1) return some[found]!.name;
  }
  return null;
}
