/** Texts of tenants, documents, transactions and queries. */
import type {Named, OperationTexts} from './text.ts';

const CITY = {
  _id: 'bern',
  _creationTime: 1_800_000_000_000,
  _updateTime: 1_800_000_000_000,
  country: 'CH',
  name: 'Bern',
  population: 134_794,
};
const VERSION = '1800000000000-1800000000000';
const FROM_PUT = {operation: 'documents.put', values: {document_id: '$request.path.document_id'}};
const LARGE_CITIES = {
  table: 'cities',
  filters: [{field: 'population', op: 'gte', value: 100_000}],
  order: {field: 'population', direction: 'desc'},
  limit: 5,
};

export const TENANT_TEXTS: OperationTexts<'tenants.create' | 'tenants.list' | 'tenants.delete'> = {
  'tenants.create': {
    summary: 'Create a tenant',
    description: 'A tenant that is created again under an old id starts empty, with another journal.',
    errors: ['session.tenant_exists', 'session.storage_full'],
    example: {body: {id: 'acme'}, answer: {id: 'acme'}},
  },
  'tenants.list': {summary: 'List tenants', example: {answer: {tenants: ['acme']}}},
  'tenants.delete': {
    summary: 'Delete a tenant and all its files',
    description: 'The answer is sent when its files are gone. Sockets of the tenant are closed.',
    errors: ['session.tenant_not_found'],
    example: {from: {operation: 'tenants.create', values: {tenant_id: '$request.body#/id'}}},
  },
};

export const DOCUMENT_TEXTS: OperationTexts<Named<'documents'> | 'transactions.run'> = {
  'documents.insert': {
    summary: 'Insert a document',
    description:
      'Creates the table if it does not exist. A success means that the write is on disk, together with ' +
      'its journal record. Keys of a document must not begin with `$`, and top-level keys not with `_`.',
    errors: ['op.schema_violation', 'op.unique_violation'],
    takesKey: true,
    example: {
      body: {table: 'cities', fields: {name: 'Bern', country: 'CH', population: 134_794}},
      answer: {id: '06a2s60d2xqxk3smxa8kqf6vw8'},
    },
  },
  'documents.list': {
    summary: 'All documents of a table',
    description: 'In order of creation. A table that was never written is empty. Read large tables in pages.',
    errors: ['op.too_large'],
    example: {answer: {data: [CITY]}},
  },
  'documents.get': {
    summary: 'A document by its id',
    description:
      'The `ETag` is its version, which differs after each change and never repeats. With `If-None-Match` ' +
      'the answer is 304 without a body while the version is the same.',
    errors: ['op.not_found'],
    example: {answer: {document: CITY}, from: FROM_PUT},
  },
  'documents.put': {
    summary: 'Create or replace a document under an id of your own',
    description:
      '`fields` becomes the whole document. `If-Match: *` only replaces, `If-None-Match: *` only creates. ' +
      'An id of the form that the service generates cannot be chosen: 404.',
    errors: ['op.schema_violation', 'op.unique_violation', 'op.not_found'],
    takesKey: true,
    example: {
      body: {fields: {name: 'Bern', country: 'CH', population: 134_794}},
      answer: {id: 'bern'},
      variants: {created: {id: 'bern'}},
    },
  },
  'documents.patch': {
    summary: 'Change fields of a document',
    description:
      'Changes top-level fields only, each field by one of the members. The patch is one write, computed ' +
      'from the current document. A change that does not fit its field is 409. A patch without fields ' +
      'writes nothing.',
    errors: ['op.schema_violation', 'op.unique_violation', 'op.not_found', 'op.conflict'],
    takesKey: true,
    example: {
      body: {patch: {capital: true}, increment: {population: 100}, append: {tags: ['old']}},
      answer: {id: 'bern'},
      from: FROM_PUT,
    },
  },
  'documents.delete': {
    summary: 'Delete a document',
    errors: ['op.not_found'],
    takesKey: true,
    example: {from: FROM_PUT},
  },
  'documents.upsert': {
    summary: 'Create a document, or change the one with the same values',
    description:
      '`by` names a unique index; `fields` has a value for each of its fields. The document with these ' +
      'values becomes `fields`, or is patched if members of a patch are given. If there is none, `fields` ' +
      'is a new document.',
    errors: ['op.schema_violation', 'op.unique_violation', 'op.conflict'],
    takesKey: true,
    example: {
      body: {table: 'people', by: 'by_email', fields: {email: 'ada@example.com', visits: 1}, increment: {visits: 1}},
      answer: {id: '06a2s60d2xqxk3smxa8kqf6vw8'},
      variants: {created: {id: '06a2s60d2xqxk3smxa8kqf6vw8'}},
      from: {operation: 'schema.put', values: {}},
    },
  },
  'transactions.run': {
    summary: 'Several writes, all of them or none',
    description:
      'Runs in order, in one commit and one journal record; each write sees the effects of those before ' +
      'it. `{"$ref": n}` stands for the id that operation n, counted from 0, has written. The first ' +
      'failure rolls everything back: its error is the answer, with its position as `operation` in ' +
      '`detail`. With `"dry_run": true` everything is done and rolled back, and `Idempotency-Key` has no ' +
      'effect. A key also needs `schedule` if an operation schedules.',
    errors: [
      'op.schema_violation',
      'op.unique_violation',
      'op.not_found',
      'op.conflict',
      'op.precondition_failed',
      'op.rate_limited',
    ],
    takesKey: true,
    example: {
      body: {
        operations: [
          {type: 'insert', table: 'orders', fields: {by: 'ada'}},
          {type: 'insert', table: 'lines', fields: {order: {$ref: 0}, item: 'pen'}},
          {type: 'upsert', table: 'stock', id: 'pen', fields: {count: -1}, increment: {count: -1}},
        ],
      },
      answer: {
        results: [
          {id: '06a2s60d2xqxk3smxa8kqf6vw8', version: VERSION},
          {id: '06a2s60d2xqxk3smxa8kqf6vwc', version: VERSION},
          {id: 'pen', version: VERSION, created: true},
        ],
      },
    },
  },
};

export const QUERY_TEXTS: OperationTexts<Named<'query'>> = {
  'query.run': {
    summary: 'Run a query',
    description:
      'Filters, order and indexes use one order of all values: missing < null < numbers < false < true < ' +
      'strings < arrays < objects. So `lt` also matches documents where the field is null or missing. ' +
      '`contains` works on arrays and text. A query that would read more than its limit without an index ' +
      'is 413.',
    errors: ['op.too_large'],
    example: {body: LARGE_CITIES, answer: {data: [CITY]}},
  },
  'query.stream': {
    summary: 'The result of a query, now and after each change',
    description:
      'Server-sent events: `data` is the whole result, `id` its version. The last event is `end` with an ' +
      '`error`. The stream ends after `limit` results; without `limit` it does not end. For many queries ' +
      'use a WebSocket; see `socket`.',
    errors: ['op.too_large'],
    example: {query: {limit: 1}, body: LARGE_CITIES, answer: {data: [CITY]}},
  },
  'query.follow': {
    summary: 'The same with the query object in the URL',
    errors: ['op.too_large'],
    example: {query: {query: JSON.stringify({table: 'cities', filters: []}), limit: 1}, answer: {data: [CITY]}},
  },
  'query.count': {
    summary: 'The number of documents that match a query',
    description:
      'Counts up to the query’s limit. If an index covers the query, no document is read; the same holds ' +
      'for a whole table.',
    errors: ['op.too_large'],
    example: {
      body: {table: 'cities', filters: [{field: 'name', op: 'prefix', value: 'B'}]},
      answer: {count: 1},
    },
  },
  'query.batch': {
    summary: 'Several queries at one snapshot',
    description:
      'Results come in the order of the queries, 16 MiB together at most. If one fails, none is answered, ' +
      'and `detail.query` is its position.',
    errors: ['op.too_large'],
    example: {
      body: {
        queries: [
          {table: 'cities', filters: [{field: 'name', op: 'in', value: ['Bern', 'Bonn']}], select: ['name']},
          {table: 'cities', filters: [], count: true},
        ],
      },
      answer: {results: [{data: [{_id: CITY._id, name: CITY.name}]}, {count: 1}]},
    },
  },
  'query.paginated': {
    summary: 'A page of a query',
    description:
      'Pass `next_cursor` as the next page’s `after`; it is null after the last page. A walk delivers ' +
      'every document that exists throughout exactly once. A cursor belongs to its query and its tenant ' +
      'and does not expire.',
    errors: ['op.too_large'],
    example: {
      body: {query: {table: 'cities', filters: []}, page_size: 100},
      answer: {data: [CITY], next_cursor: null, has_more: false},
    },
  },
};
