/** The tenants the HTTP workloads run on, and the requests of each workload. */
import {Buffer} from 'node:buffer';
import {tenantPath} from '../../../cli/client.ts';
import {importLines} from '../../../cli/transfer/import-run.ts';
import {benchDocument, CATEGORIES, ITEMS, QUERY_LIMIT, SMALL_ITEMS} from '../../documents.ts';
import {requestText} from '../../load/job.ts';
import type {SvcPeer} from './start.ts';

export type Workload = 'get' | 'insert' | 'query' | 'count' | 'list' | 'journal' | 'transaction';
export type SvcRequests = Record<Workload, string[]>;

/** Documents whose ids are asked for, of each tenant. */
const IDS = 1_000;
const JOURNAL_PAGE = 100;
/** Of documents that a tenant is filled with, in one request. */
const LINES_AT_ONCE = 5_000;
/** Inserts in one transaction. */
const TRANSACTION_INSERTS = 10;

export async function seedTenant(peer: SvcPeer, tenant: string): Promise<SvcRequests> {
  const {client, token} = peer;
  await client.createTenant(tenant);
  await client.json('PUT', tenantPath(tenant, 'schema', 'items'), {
    table: 'items',
    fields: [],
    indexes: [{name: 'by_category_rank', fields: ['category', 'rank']}],
  });
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
  return {
    get: page.data.map(({_id}) => requestText('GET', `${path}/documents/items/${_id}`, headers)),
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
    query: many(CATEGORIES, i =>
      post('query', {
        table: 'items',
        filters: [{field: 'category', op: 'eq', value: `c${i}`}],
        order: {field: 'rank', direction: 'desc'},
        limit: QUERY_LIMIT,
      }),
    ),
    count: many(CATEGORIES, i =>
      post('query/count', {table: 'items', filters: [{field: 'category', op: 'eq', value: `c${i}`}]}),
    ),
    list: [requestText('GET', `${path}/documents/small`, headers)],
    journal: many(ITEMS / JOURNAL_PAGE - 1, i =>
      requestText('GET', `${path}/journal?after=${i * JOURNAL_PAGE}&limit=${JOURNAL_PAGE}`, headers),
    ),
  };
}

export async function fill({client}: SvcPeer, tenant: string, table: string, count: number): Promise<void> {
  const end = await importLines(
    documentLines(count),
    {client, tenant, table, importId: `bench ${table}`, skipBad: false, seen: null},
    {moved: () => {}, badLine: () => {}},
  );
  if (end.stoppedBy !== null) throw new Error(`the benchmark's documents were refused: ${end.stoppedBy.message}`);
}

async function* documentLines(count: number): AsyncGenerator<Buffer, void, void> {
  for (let from = 0; from < count; from += LINES_AT_ONCE) {
    const lines = Array.from({length: Math.min(LINES_AT_ONCE, count - from)}, (_, i) => benchDocument(from + i));
    yield Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''));
  }
}
