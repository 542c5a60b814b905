/** Every row of the result: what is measured, of whom, and how durable its writes are. */

import {twoRoutersRow} from './peers/svc/two-routers.ts';

export type RowName =
  | 'uws static'
  | `svc ${'get' | 'worker-get' | 'insert' | 'query' | 'count' | 'list' | 'journal' | 'transaction'} ${'1 tenant' | '8 tenants'}`
  | `svc ${'wide-get' | 'wide-query' | 'lone-insert'}`
  | `2-routers ${'get' | 'insert'}`
  | `before ${'get' | 'worker-get' | 'insert' | 'query' | 'list'}`
  | `hand ${'get' | 'wide-get' | 'insert' | 'lone-insert' | 'query' | 'wide-query'}`
  | `pocketbase ${'get' | 'insert' | 'query' | 'list'}`
  | `sqlite ${'get' | 'query' | 'insert1' | 'insert8' | 'insert64'}`;

export type Row = {name: RowName; what: string; durability: string};

const NO_WRITES = 'reads';
const SVC_WRITES = 'fsync before each reply (WAL, group commit; fdatasync)';
const HAND_WRITES = 'fsync before each reply (WAL, synchronous=FULL, the inserts of a turn together)';
const LONE = 'a document, by one connection that waits for its answer';
const WIDE_GET = 'one of 100,000 documents by id, each in turn';
const WIDE_QUERY = '20 of 100,000 by index, ordered, each document in turn';
const WORKLOADS = {
  get: 'a document by id, read again and again',
  'worker-get': 'a document by id, as if it were read once',
  insert: 'a document',
  query: '20 of 10,000 by index, ordered',
  count: '200 of 10,000 counted by index',
  list: 'a table of 20 documents',
  journal: 'a page of 100 records',
  transaction: '10 documents in one transaction',
} as const;

/** In the order they run: what is compared with each other is measured one after the other. */
export const ROWS: readonly Row[] = [
  {name: 'uws static', what: 'raw uWebSockets.js, one JSON text as long as a document', durability: 'no storage'},
  ...svcRows('get'),
  twoRoutersRow('get', {what: WORKLOADS.get, durability: NO_WRITES}),
  {name: 'before get', what: WORKLOADS.get, durability: NO_WRITES},
  ...svcRows('worker-get'),
  {name: 'before worker-get', what: WORKLOADS['worker-get'], durability: NO_WRITES},
  {name: 'hand get', what: WORKLOADS.get, durability: NO_WRITES},
  {name: 'svc wide-get', what: WIDE_GET, durability: NO_WRITES},
  {name: 'hand wide-get', what: WIDE_GET, durability: NO_WRITES},
  {name: 'pocketbase get', what: WORKLOADS.get, durability: NO_WRITES},
  ...svcRows('insert'),
  twoRoutersRow('insert', {what: WORKLOADS.insert, durability: SVC_WRITES}),
  {name: 'before insert', what: WORKLOADS.insert, durability: SVC_WRITES},
  {name: 'hand insert', what: WORKLOADS.insert, durability: HAND_WRITES},
  {name: 'svc lone-insert', what: LONE, durability: SVC_WRITES},
  {name: 'hand lone-insert', what: LONE, durability: HAND_WRITES},
  {name: 'pocketbase insert', what: WORKLOADS.insert, durability: 'no fsync per reply (WAL, synchronous=NORMAL)'},
  ...svcRows('transaction'),
  ...svcRows('query'),
  {name: 'before query', what: WORKLOADS.query, durability: NO_WRITES},
  {name: 'hand query', what: WORKLOADS.query, durability: NO_WRITES},
  {name: 'svc wide-query', what: WIDE_QUERY, durability: NO_WRITES},
  {name: 'hand wide-query', what: WIDE_QUERY, durability: NO_WRITES},
  {name: 'pocketbase query', what: WORKLOADS.query, durability: NO_WRITES},
  ...svcRows('count'),
  ...svcRows('list'),
  {name: 'before list', what: WORKLOADS.list, durability: NO_WRITES},
  {name: 'pocketbase list', what: WORKLOADS.list, durability: NO_WRITES},
  ...svcRows('journal'),
  {name: 'sqlite get', what: 'better-sqlite3 in a loop: by primary key', durability: NO_WRITES},
  {name: 'sqlite query', what: 'better-sqlite3 in a loop: 20 of 10,000 by index', durability: NO_WRITES},
  ...([1, 8, 64] as const).map(
    (count): Row => ({
      name: `sqlite insert${count}`,
      what: `better-sqlite3 in a loop: ${count} a transaction`,
      durability: 'fsync per transaction (WAL, synchronous=FULL)',
    }),
  ),
];

function svcRows(workload: keyof typeof WORKLOADS): Row[] {
  const durability = workload === 'insert' || workload === 'transaction' ? SVC_WRITES : NO_WRITES;
  return (['1 tenant', '8 tenants'] as const).map(tenants => ({
    name: `svc ${workload} ${tenants}`,
    what: WORKLOADS[workload],
    durability,
  }));
}
