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

export const BULK_TEXTS: OperationTexts<Named<'imports' | 'tasks'> | 'exports.run'> = {
  'imports.run': {
    tag: 'bulk',
    summary: 'Import JSON lines or CSV',
    description:
      'The body is taken while it arrives: `application/x-ndjson`, an object a line, or `text/csv` with a header. Lines are committed in their ' +
      'order, up to 1,000 at once. A refused line stops the import with all before it in (`detail.line`), or is counted with `on_error=skip`. ' +
      'With an `import_id` the same request goes on behind the lines that are in, whatever cut it. `mode=restore` puts an export with `for=restore` ' +
      'back as it was, with ids and times; a key needs the scope `schema` for it.',
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
    tag: 'bulk',
    summary: 'Export documents as JSON lines or CSV',
    description:
      'All documents of a table, or of all tables, at one sequence (`X-Svc-Sequence`), in order of creation. Lines are documents, or ' +
      '`{"table": …, "document": …}` without `table`. With `format=csv` a header and a record a document, of one table; it goes back in with ' +
      '`cells=json` of an import. An answer that ends early is cut visibly.',
    errors: ['session.overloaded'],
    example: {
      query: {table: 'cities'},
      answer: {_id: 'bern', _creationTime: 1_760_000_000_000, _updateTime: 1_760_000_000_000, name: 'Bern'},
    },
  },
  'tasks.create': {
    tag: 'bulk',
    summary: 'Delete or patch all documents that a query finds',
    description:
      'Runs in slices after the answer, also after a crash. A document that was there when the task was made and passes the filters when its ' +
      'turn comes is changed once; later ones are not. One that refuses its patch ends the task, or is counted with `on_error: "skip"`.',
    errors: ['op.rate_limited', 'op.conflict', 'op.too_large'],
    takesKey: true,
    example: {body: {type: 'delete', query: TASK.query}, answer: {id: TASK.id}},
  },
  'tasks.list': {tag: 'bulk', summary: 'Tasks, the newest first', example: {answer: {tasks: [TASK]}}},
  'tasks.get': {
    tag: 'bulk',
    summary: 'How far a task is',
    errors: ['op.not_found'],
    example: {
      answer: {task: TASK},
      from: {operation: 'tasks.create', values: {task_id: '$response.body#/id'}},
    },
  },
  'tasks.cancel': {
    tag: 'bulk',
    summary: 'Cancel a task',
    description: 'What it has changed stays so.',
    errors: ['op.not_found', 'op.conflict'],
    example: {
      answer: {task: {...TASK, state: 'cancelled'}},
      from: {operation: 'tasks.create', values: {task_id: '$response.body#/id'}},
    },
  },
  'imports.list': {
    tag: 'bulk',
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
    tag: 'bulk',
    summary: 'How far an import is',
    description: '`lines` are on disk: go on with the next one.',
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
