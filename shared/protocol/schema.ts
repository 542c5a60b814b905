/** Wire types of the table schema routes. GET|PUT|DELETE /api/tenants/{tenant_id}/schema/{table} */
import Type, {type Static} from 'typebox';
import {INDEX_FIELDS_MAX, SCHEMA_FIELDS_MAX, SCHEMA_INDEXES_MAX} from '../limits.ts';

export const FIELD_TYPES = ['string', 'number', 'boolean', 'array', 'object', 'any'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/**
 * `building`: writes maintain it, queries do not use it yet. `enabled`: complete. `failed`: it was to be unique, but
 * several documents have the same values; it is not maintained, and the next PUT of the schema builds it again.
 */
export const INDEX_STATES = ['building', 'enabled', 'failed'] as const;

export const FieldEntry = Type.Object({
  name: Type.String(),
  field_type: Type.Enum([...FIELD_TYPES]),
  required: Type.Boolean({description: 'false also accepts null'}),
});
export type FieldEntry = Static<typeof FieldEntry>;

/** A client's index; `id`, `state` and `failure` are the server's, as GET shows them, and ignored here. */
const PutIndex = Type.Object(
  {
    name: Type.String(),
    fields: Type.Array(Type.String(), {minItems: 1, maxItems: INDEX_FIELDS_MAX}),
    unique: Type.Optional(
      Type.Boolean({
        description:
          'true: no two documents have the same values; those without one of them, or with null, do not count',
      }),
    ),
    id: Type.Optional(Type.Unknown()),
    state: Type.Optional(Type.Unknown()),
    failure: Type.Optional(Type.Unknown()),
  },
  {additionalProperties: false},
);
export type IndexEntry = {name: string; fields: string[]; unique?: boolean};

/** Body of PUT. `table` must equal the path's. */
export const TableSchema = Type.Object({
  table: Type.String(),
  fields: Type.Array(FieldEntry, {maxItems: SCHEMA_FIELDS_MAX}),
  indexes: Type.Optional(Type.Array(PutIndex, {maxItems: SCHEMA_INDEXES_MAX, description: 'absent: none'})),
});
/** A decoded table schema: without `indexes` it has none. */
export type TableSchema = {table: string; fields: FieldEntry[]; indexes: IndexEntry[]};

const unique = {unique: Type.Optional(Type.Literal(true, {description: 'absent: it is not'}))};

/** An index in the journal: without its state, because a replaying reader builds its own. */
export const IndexDefinition = Type.Object({
  id: Type.String(),
  name: Type.String(),
  fields: Type.Array(Type.String()),
  ...unique,
});

/** Two documents with the same values in an index that was to be unique. */
export const Duplicate = Type.Object({id: Type.String(), same_as: Type.String()});
export type Duplicate = Static<typeof Duplicate>;

/** An index as GET shows it. */
export const StoredIndex = Type.Object({
  id: Type.String(),
  name: Type.String(),
  fields: Type.Array(Type.String()),
  state: Type.Enum([...INDEX_STATES]),
  ...unique,
  failure: Type.Optional(
    Type.Object({offenders: Type.Array(Duplicate)}, {description: 'of one that failed: the first such documents'}),
  ),
});
export type StoredIndex = Static<typeof StoredIndex>;

/** A table schema as GET shows it. */
export const StoredTableSchema = Type.Object({
  table: Type.String(),
  fields: Type.Array(FieldEntry),
  indexes: Type.Array(StoredIndex),
});
export type StoredTableSchema = Static<typeof StoredTableSchema>;

export const SchemaList = Type.Object({
  tables: Type.Record(Type.String(), StoredTableSchema, {
    description: 'by table; those without a schema are not in it',
  }),
});

/** GET …/indexes */
export const IndexList = Type.Object({
  since: Type.Number({description: 'epoch milliseconds: the start of the tenant’s worker, from which reads are known'}),
  indexes: Type.Array(
    Type.Object({
      table: Type.String(),
      name: Type.String(),
      fields: Type.Array(Type.String()),
      state: Type.Enum([...INDEX_STATES]),
      ...unique,
      documents: Type.Integer({minimum: 0, description: 'of the table'}),
      built: Type.Union([Type.Number({minimum: 0, maximum: 1}), Type.Null()], {
        description: 'the part of the table that is in it, approximately; 1: enabled; null: failed',
      }),
      last_read_at: Type.Union([Type.Number(), Type.Null()], {
        description: 'epoch milliseconds, to the minute; null: no query or function has read it since then',
      }),
    }),
    {description: 'of tables of deployments, too'},
  ),
});
export type IndexList = Static<typeof IndexList>;

/** POST …/tables/{table}/rename */
export const RenameBody = Type.Object(
  {to: Type.String({description: 'a name that no table has'})},
  {additionalProperties: false},
);

export const ListedTables = Type.Object({
  tables: Type.Array(Type.Object({name: Type.String(), documents: Type.Integer({minimum: 0})}), {
    description: 'by name; one that is empty and has no schema is not in it',
  }),
});
export type ListedTables = Static<typeof ListedTables>;
