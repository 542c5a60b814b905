/** The tenants the HTTP workloads run on, and the requests of each workload. */
import {tenantPath} from '../../../cli/client.ts';
import {importChunks} from '../../bulk/import.ts';
import {
  benchDocument,
  CATEGORIES,
  ITEMS,
  QUERY_LIMIT,
  SMALL_ITEMS,
  WIDE_CATEGORIES,
  WIDE_ITEMS,
  wideCategory,
  wideDocument,
} from '../../documents.ts';
import {requestText} from '../../load/job.ts';
import type {SvcPeer} from './start.ts';

export type Workload = 'get' | 'worker-get' | 'insert' | 'query' | 'count' | 'list' | 'journal' | 'transaction';
export type SvcRequests = Record<Workload, string[]>;

/** Documents whose ids are asked for, of each tenant. */
const IDS = 1_000;
const JOURNAL_PAGE = 100;
/** Of documents that a tenant is filled with. */
const IN_FLIGHT = 64;
/** Inserts in one transaction. */
const TRANSACTION_INSERTS = 10;

export async function seedTenant(peer: SvcPeer, tenant: string): Promise<SvcRequests> {
  const {client, token} = peer;
  await client.createTenant(tenant);
  await makeItems(peer, tenant);
  await fill(peer, tenant, 'items', ITEMS);
  await fill(peer, tenant, 'small', SMALL_ITEMS);
  const page = await client.json<{data: {_id: string}[]}>('POST', `${tenantPath(tenant)}/query/paginated`, {
    query: {table: 'items', filters: []},
    page_size: IDS,
  });
  const headers = {Authorization: `Bearer ${token}`};
  const path = tenantPath(tenant);
  const post = (route: string, body: unknown): string =>
    requestText('POST', `${path}/${route}`, headers, JSON.stringify(body));
  const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({length: count}, (_, i) => make(i));
  const get = (more: Record<string, string>): string[] =>
    page.data.map(({_id}) => requestText('GET', `${path}/documents/items/${_id}`, {...headers, ...more}));
  return {
    get: get({}),
    // A router leaves lists of entity tags to the worker, so it does not answer these from its memory.
    'worker-get': get({'If-None-Match': '"1", "2"'}),
    insert: many(IDS, i => post('documents', {table: 'inserts', fields: benchDocument(i)})),
    transaction: many(IDS, i =>
      post('transactions', {
        operations: many(TRANSACTION_INSERTS, n => ({
          type: 'insert',
          table: 'inserts',
          fields: benchDocument(i * TRANSACTION_INSERTS + n),
        })),
      }),
    ),
    query: many(CATEGORIES, i => post('query', newest(`c${i}`))),
    count: many(CATEGORIES, i =>
      post('query/count', {table: 'items', filters: [{field: 'category', op: 'eq', value: `c${i}`}]}),
    ),
    list: [requestText('GET', `${path}/documents/small`, headers)],
    journal: many(ITEMS / JOURNAL_PAGE - 1, i =>
      requestText('GET', `${path}/journal?after=${i * JOURNAL_PAGE}&limit=${JOURNAL_PAGE}`, headers),
    ),
  };
}

export type WideRequests = Record<'wide-get' | 'wide-query', string[]>;

/** A tenant with more documents than its caches hold, and requests that read all of them. */
export async function seedWideTenant(peer: SvcPeer, tenant: string): Promise<WideRequests> {
  const {client, token} = peer;
  await client.createTenant(tenant);
  await makeItems(peer, tenant);
  const lines = Array.from({length: WIDE_ITEMS}, (_, i) => `${JSON.stringify(wideDocument(i))}\n`);
  await importChunks(peer, tenant, 'items', [Buffer.from(lines.join(''))]);
  const headers = {Authorization: `Bearer ${token}`};
  const path = tenantPath(tenant);
  const gets: string[] = [];
  let after: string | null = null;
  do {
    const page: {data: {_id: string}[]; next_cursor: string | null} = await client.json(
      'POST',
      `${path}/query/paginated`,
      {
        query: {table: 'items', filters: []},
        page_size: IDS,
        ...(after === null ? {} : {after}),
      },
    );
    gets.push(...page.data.map(({_id}) => requestText('GET', `${path}/documents/items/${_id}`, headers)));
    after = page.next_cursor;
  } while (after !== null);
  const queries = Array.from({length: WIDE_CATEGORIES}, (_, i) =>
    requestText('POST', `${path}/query`, headers, JSON.stringify(newest(wideCategory(i)))),
  );
  return {'wide-get': gets, 'wide-query': queries};
}

async function makeItems({client}: SvcPeer, tenant: string): Promise<void> {
  await client.json('PUT', tenantPath(tenant, 'schema', 'items'), {
    table: 'items',
    fields: [],
    indexes: [{name: 'by_category_rank', fields: ['category', 'rank']}],
  });
}

/** A query of the documents of a category with the highest ranks. */
function newest(category: string): object {
  return {
    table: 'items',
    filters: [{field: 'category', op: 'eq', value: category}],
    order: {field: 'rank', direction: 'desc'},
    limit: QUERY_LIMIT,
  };
}

/** By plain inserts: every build has them, and `--before` may be one without imports. */
export async function fill({client}: SvcPeer, tenant: string, table: string, count: number): Promise<void> {
  let next = 0;
  const inserts = async (): Promise<void> => {
    while (next < count) {
      const fields = benchDocument(next++);
      await client.json('POST', tenantPath(tenant, 'documents'), {table, fields});
    }
  };
  await Promise.all(Array.from({length: IN_FLIGHT}, inserts));
}

/** A tenant with one document: a request that gets it, and one that inserts another. */
export async function seedSmallTenant(
  {client, token}: SvcPeer,
  tenant: string,
): Promise<{get: string; insert: string}> {
  await client.createTenant(tenant);
  const path = tenantPath(tenant, 'documents');
  const made = await client.json<{id: string}>('POST', path, {table: 'items', fields: benchDocument(0)});
  const headers = {Authorization: `Bearer ${token}`};
  return {
    get: requestText('GET', `${path}/items/${made.id}`, headers),
    insert: requestText('POST', path, headers, JSON.stringify({table: 'inserts', fields: benchDocument(1)})),
  };
}
