/**
 * The documents that refer to a document. Only fields that lead an index are searched, because others would read whole
 * tables.
 */
import {useQuery} from '@tanstack/react-query';
import {Link} from 'wouter';
import {BATCH_QUERIES_MAX} from '../../../shared/limits.ts';
import {call} from '../../api/client.ts';
import {pathOf} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {plural} from '../../parts/values.tsx';
import css from './document.module.css';
import {filterText} from './filter-text.ts';

type Found = {readonly table: string; readonly field: string; readonly count: number};

export function References({tenant, id}: {tenant: string; id: string}) {
  const found = useQuery({
    queryKey: ['references', {tenant}, id],
    queryFn: async ({signal}) => await referencesTo(tenant, id, signal),
  });
  return (
    <Loaded query={found}>
      {({references, searched}) =>
        references.length === 0 ? (
          <Empty title="No document refers to this one">
            {searched === 0
              ? 'No table has an index, and only fields with an index are searched.'
              : `${plural(searched, 'field')} with an index ${searched === 1 ? 'was' : 'were'} searched.`}
          </Empty>
        ) : (
          <ul className={css.list}>
            {references.map(({table, field, count}) => {
              const filter = filterText([{field, op: 'eq', value: id}]);
              return (
                <li key={`${table} ${field}`}>
                  <Link href={`${pathOf(tenant, 'data', table)}?filter=${encodeURIComponent(filter)}`}>
                    {plural(count, 'document')} of {table}
                  </Link>{' '}
                  in <code>{field}</code>
                </li>
              );
            })}
          </ul>
        )
      }
    </Loaded>
  );
}

async function referencesTo(tenant: string, id: string, signal: AbortSignal) {
  const {tables} = await call('schema.all', {tenant}, {signal});
  const fields = Object.values(tables).flatMap(({table, indexes}) => {
    const leading = indexes.filter(({state}) => state === 'enabled').map(index => index.fields[0]!);
    return [...new Set(leading)].map(field => ({table, field}));
  });
  const references: Found[] = [];
  for (let at = 0; at < fields.length; at += BATCH_QUERIES_MAX) {
    const some = fields.slice(at, at + BATCH_QUERIES_MAX);
    const queries = some.map(({table, field}) => ({
      table,
      filters: [{field, op: 'eq' as const, value: id}],
      count: true,
    }));
    const {results} = await call('query.batch', {tenant, body: {queries}}, {signal});
    for (const [i, result] of results.entries())
      if ('count' in result && result.count > 0) references.push({...some[i]!, count: result.count});
  }
  return {references, searched: fields.length};
}
