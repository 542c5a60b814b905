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

export const TENANT_TEXTS: OperationTexts<Named<'tenants'>> = {
  'tenants.create': {
    tag: 'tenants',
    summary: 'Make a tenant',
    description: 'A tenant made again under an old id starts empty, with another journal.',
    errors: ['session.tenant_exists', 'session.storage_full'],
    example: {body: {id: 'acme'}, answer: {id: 'acme'}},
  },
  'tenants.list': {tag: 'tenants', summary: 'List tenants', example: {answer: {tenants: ['acme']}}},
  'tenants.delete': {
    tag: 'tenants',
    summary: 'Delete a tenant and all its files',
    description: 'Answers when its files are gone. Sockets of the tenant are closed.',
    errors: ['session.tenant_not_found'],
    example: {from: {operation: 'tenants.create', values: {tenant_id: '$request.body#/id'}}},
  },
};

export const DOCUMENT_TEXTS: OperationTexts<Named<'documents'> | 'transactions.run'> = {
  'documents.insert': {
    tag: 'documents',
    summary: 'Insert a document',
    description:
      'Makes the table if it is not there. A success means that the write is on disk, together with its journal record. ' +
      'Keys of a document do not begin with `$`, and those at its top not with `_`.',
    errors: ['op.schema_violation', 'op.unique_violation'],
    takesKey: true,
    example: {
      body: {table: 'cities', fields: {name: 'Bern', country: 'CH', population: 134_794}},
      answer: {id: '06a2s60d2xqxk3smxa8kqf6vw8'},
    },
  },
  'documents.list': {
    tag: 'documents',
    summary: 'All documents of a table',
    description:
      'In order of creation. A table that was never written is an empty one. Large tables are read in pages.',
    errors: ['op.too_large'],
    example: {answer: {data: [CITY]}},
  },
  'documents.get': {
    tag: 'documents',
    summary: 'A document by its id',
    description:
      'Its version is its `ETag`: another one after each change, never the same again. With `If-None-Match` the answer is 304 ' +
      'without a body while the version is that one.',
    errors: ['op.not_found'],
    example: {answer: {document: CITY}, from: FROM_PUT},
  },
  'documents.put': {
    tag: 'documents',
    summary: 'Make or replace a document under an id of your own',
    description:
      '`fields` becomes the whole document. `If-Match: *` only replaces, `If-None-Match: *` only makes. An id that the service made is ' +
      'not yours to choose: 404.',
    errors: ['op.schema_violation', 'op.unique_violation', 'op.not_found'],
    takesKey: true,
    example: {
      body: {fields: {name: 'Bern', country: 'CH', population: 134_794}},
      answer: {id: 'bern'},
      variants: {created: {id: 'bern'}},
    },
  },
  'documents.patch': {
    tag: 'documents',
    summary: 'Change fields of a document',
    description:
      'Only top-level fields, and a field by one of the members. All of it is one write, worked out from the document as it is then. What a ' +
      'field does not fit is 409. A patch that names no field writes nothing.',
    errors: ['op.schema_violation', 'op.unique_violation', 'op.not_found', 'op.conflict'],
    takesKey: true,
    example: {
      body: {patch: {capital: true}, increment: {population: 100}, append: {tags: ['old']}},
      answer: {id: 'bern'},
      from: FROM_PUT,
    },
  },
  'documents.delete': {
    tag: 'documents',
    summary: 'Delete a document',
    errors: ['op.not_found'],
    takesKey: true,
    example: {from: FROM_PUT},
  },
  'documents.upsert': {
    tag: 'documents',
    summary: 'Make a document, or change the one with the same values',
    description:
      '`by` names a unique index; `fields` has a value for each of its fields. The document that has these values becomes `fields`, or is changed ' +
      'as by a patch if there are members of one; where none has, `fields` is a new document.',
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
    tag: 'transactions',
    summary: 'Several writes, all of them or none',
    description:
      'In their order, in one commit and one record of the journal; each sees what those before it did. `{"$ref": n}` stands for the id that ' +
      'operation n, counted from 0, has written. The first that fails takes all back: its error is the answer, with its position as ' +
      '`operation` in `detail`. With `"dry_run": true` everything is done and taken back, and `Idempotency-Key` is not looked at. A key needs ' +
      '`schedule` as well where an operation schedules.',
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
    tag: 'queries',
    summary: 'Run a query',
    description:
      'One order of all values serves filters, order and indexes: missing < null < numbers < false < true < strings < arrays < objects. ' +
      'So `lt` also matches documents where the field is null or missing. `contains` is of arrays and of text. A query that would read more than it may without an index is 413.',
    errors: ['op.too_large'],
    example: {body: LARGE_CITIES, answer: {data: [CITY]}},
  },
  'query.stream': {
    tag: 'queries',
    summary: 'The result of a query, now and whenever it changes',
    description:
      'Server-sent events: `data` is the whole result, `id` the moment it is of; an event `end` with `error` is the last one. It ends after ' +
      '`limit` results, otherwise not. Of WebSockets, which hold many queries, see `socket`.',
    errors: ['op.too_large'],
    example: {query: {limit: 1}, body: LARGE_CITIES, answer: {data: [CITY]}},
  },
  'query.follow': {
    tag: 'queries',
    summary: 'The same with the query object in the URL',
    errors: ['op.too_large'],
    example: {query: {query: JSON.stringify({table: 'cities', filters: []}), limit: 1}, answer: {data: [CITY]}},
  },
  'query.count': {
    tag: 'queries',
    summary: 'How many documents a query has',
    description:
      'Up to its limit. What an index says in full is counted without reading a document, and so is a whole table.',
    errors: ['op.too_large'],
    example: {
      body: {table: 'cities', filters: [{field: 'name', op: 'prefix', value: 'B'}]},
      answer: {count: 1},
    },
  },
  'query.batch': {
    tag: 'queries',
    summary: 'Several queries of one moment',
    description:
      'Results come in the order of the queries, 16 MiB together at most. If one cannot be, none is answered, and `detail.query` is its position.',
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
    tag: 'queries',
    summary: 'A page of a query',
    description:
      'Pass `next_cursor` as the next page’s `after`; it is null after the last page. A walk delivers every document that was there ' +
      'throughout exactly once. A cursor belongs to its query and its tenant and does not expire.',
    errors: ['op.too_large'],
    example: {
      body: {query: {table: 'cities', filters: []}, page_size: 100},
      answer: {data: [CITY], next_cursor: null, has_more: false},
    },
  },
};
