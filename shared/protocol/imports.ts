/** Wire types of imports. POST|GET /api/tenants/{tenant_id}/import… */
import Type, {type Static} from 'typebox';
import {IMPORT_ID_CHARS_MAX} from '../limits.ts';

const closed = {additionalProperties: false} as const;

export const ImportMode = Type.Enum(['insert', 'own_ids', 'upsert', 'restore']);
export type ImportMode = Static<typeof ImportMode>;

/** POST …/import */
export const ImportQuery = Type.Object(
  {
    table: Type.Optional(
      Type.String({description: 'of all lines; absent: each line is {"table": …, "document": …}. CSV needs it'}),
    ),
    mode: Type.Optional(ImportMode),
    on_error: Type.Optional(
      Type.Enum(['stop', 'skip'], {description: 'when a line is refused: stop (default) or skip'}),
    ),
    cells: Type.Optional(
      Type.Enum(['schema', 'json'], {
        description:
          "how CSV cells are read. schema (default): as text, or by the table's schema. json: JSON as its value, other cells as text",
      }),
    ),
    import_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: IMPORT_ID_CHARS_MAX,
        description: 'chosen by the caller, to continue the import and to query its progress',
      }),
    ),
    first_line: Type.Optional(
      Type.Integer({minimum: 1, description: 'the number of the first line of the body, of an import with an id'}),
    ),
  },
  closed,
);
export type ImportQuery = Static<typeof ImportQuery>;
export type CellRule = NonNullable<ImportQuery['cells']>;

const ImportError = Type.Object({
  line: Type.Integer({minimum: 1}),
  code: Type.String(),
  message: Type.String(),
});

const counts = {
  lines: Type.Integer({minimum: 0, description: 'that are dealt with and on disk: go on with the next one'}),
  inserted: Type.Integer({minimum: 0}),
  updated: Type.Integer({minimum: 0}),
  failed: Type.Integer({minimum: 0, description: 'lines that were refused and passed over'}),
  errors: Type.Array(ImportError, {description: 'the first of those that failed'}),
};

/** The counts of an import that has no record of its own. */
export const ImportResult = Type.Object(counts);
export type ImportResult = Static<typeof ImportResult>;

/** GET …/import/{import_id} */
export const ImportRecord = Type.Object({
  import_id: Type.String(),
  state: Type.Enum(['open', 'complete'], {description: 'complete: a body was taken to its end'}),
  table: Type.Union([Type.String(), Type.Null()]),
  mode: ImportMode,
  ...counts,
  created_at: Type.Number({description: 'epoch milliseconds'}),
  updated_at: Type.Number({description: 'epoch milliseconds'}),
});
export type ImportRecord = Static<typeof ImportRecord>;

export const FoundImport = Type.Object({import: ImportRecord});
const Damaged = Type.Optional(
  Type.Array(Type.String(), {description: 'ids of those whose records are damaged in the file; absent: none are'}),
);
export const ImportList = Type.Object({
  imports: Type.Array(ImportRecord, {description: 'the newest first'}),
  damaged: Damaged,
});
export type ImportList = Static<typeof ImportList>;
