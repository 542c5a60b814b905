/** Texts of operations on many documents. */
import type {Named, OperationTexts} from './text.ts';

const TASK = {
  id: '06a2s60d2xqxk3smxa8kqf6vw8',
  type: 'delete',
  query: {table: 'cities', filters: [{field: 'population', op: 'lt', value: 1_000}]},
  state: 'completed',
  changed: 212,
  failed: 0,
  errors: [],
  created_at: 1_760_000_000_000,
  updated_at: 1_760_000_000_500,
};
const COUNTS = {lines: 2, inserted: 2, updated: 0, failed: 0, errors: []};

export const BULK_TEXTS: OperationTexts<Named<'imports' | 'tasks'> | 'exports.file' | 'exports.run'> = {
  'imports.run': {
    summary: 'Import JSON lines or CSV',
    description:
      'The body is processed as it arrives: `application/x-ndjson` with one object per line, or `text/csv` ' +
      'with a header. Lines are committed in order, up to 1,000 at once. A refused line (`detail.line`) ' +
      'stops the import, with all lines before it imported, or is counted with `on_error=skip`. After an ' +
      'interruption, the same request with the same `import_id` continues after the imported lines. ' +
      '`mode=restore` restores an export made with `for=restore`, with ids and times; a key needs the ' +
      'scope `schema` for it.',
    errors: [
      'op.schema_violation',
      'op.unique_violation',
      'op.conflict',
      'op.too_large',
      'op.unsupported_media_type',
      'op.rate_limited',
    ],
    example: {
      query: {table: 'cities', import_id: 'nightly'},
      body: '{"name": "Oslo"}\n{"name": "Bergen"}\n',
      answer: COUNTS,
    },
  },
  'exports.run': {
    summary: 'Export documents as JSON lines or CSV',
    description:
      'All documents of a table, or of all tables, at one sequence (`X-Svc-Sequence`), in order of ' +
      'creation. Lines are documents, or `{"table": …, "document": …}` without `table`. `format=csv` gives ' +
      'a header and one record per document of one table; an import with `cells=json` reads it back. `filters` ' +
      'exports the documents of one table that match. An ' +
      'answer that ends early is visibly cut.',
    errors: ['session.overloaded'],
    example: {
      query: {table: 'cities'},
      answer: {_id: 'bern', _creationTime: 1_760_000_000_000, _updateTime: 1_760_000_000_000, name: 'Bern'},
    },
  },
  'exports.file': {
    summary: 'Export the whole tenant as one file',
    description:
      'A clean SQLite file with everything of the tenant as of one commit, while the tenant goes on. Any SQLite opens it, ' +
      'and `PUT …/file` makes a tenant of it. `X-Svc-File-Bytes` and `X-Svc-File-Sha256` tell a complete file from one ' +
      'that was cut. It has no external packages: deploy again where the tenant is imported as a new one. The ' +
      'copy needs free space for a second file on the server; one is made at a time.',
    errors: ['op.conflict', 'session.storage_full', 'session.overloaded'],
    example: {answer: 'SQLite format 3…'},
  },
  'tasks.create': {
    summary: 'Delete or patch all documents that match a query',
    description:
      'Runs in slices after the answer and continues after a crash. Each document that existed when the ' +
      'task was created, and matches the filters when the task reaches it, is changed once; later ' +
      'documents are not. A document that refuses the patch ends the task, or is counted with `on_error: ' +
      '"skip"`.',
    errors: ['op.rate_limited', 'op.conflict', 'op.too_large'],
    takesKey: true,
    example: {body: {type: 'delete', query: TASK.query}, answer: {id: TASK.id}},
  },
  'tasks.list': {summary: 'Tasks, the newest first', example: {answer: {tasks: [TASK]}}},
  'tasks.get': {
    summary: 'Progress of a task',
    errors: ['op.not_found'],
    example: {
      answer: {task: TASK},
      from: {operation: 'tasks.create', values: {task_id: '$response.body#/id'}},
    },
  },
  'tasks.cancel': {
    summary: 'Cancel a task',
    description: 'Changes that the task has already made stay.',
    errors: ['op.not_found', 'op.conflict'],
    example: {
      answer: {task: {...TASK, state: 'cancelled'}},
      from: {operation: 'tasks.create', values: {task_id: '$response.body#/id'}},
    },
  },
  'imports.list': {
    summary: 'Imports of the last 24 hours that can be continued',
    description: 'The newest first.',
    example: {
      answer: {
        imports: [
          {
            import_id: 'nightly',
            state: 'complete',
            table: 'cities',
            mode: 'insert',
            ...COUNTS,
            created_at: 1_760_000_000_000,
            updated_at: 1_760_000_000_500,
          },
        ],
      },
    },
  },
  'imports.get': {
    summary: 'Progress of an import',
    description: 'The first `lines` lines are on disk; continue with the next one.',
    errors: ['op.not_found'],
    example: {
      from: {operation: 'imports.run', values: {import_id: '$request.query.import_id'}},
      answer: {
        import: {
          import_id: 'nightly',
          state: 'open',
          table: null,
          mode: 'upsert',
          ...COUNTS,
          created_at: 1_760_000_000_000,
          updated_at: 1_760_000_000_500,
        },
      },
    },
  },
};
