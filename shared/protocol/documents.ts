/** Wire types of the document routes. POST|GET|PATCH|DELETE /api/tenants/{tenant_id}/documents/… */
import Type, {type Static} from 'typebox';
import {AnyKey} from './any-key.ts';

/** POST …/documents. Unknown fields are ignored. `fields` is validated separately (see values/json.ts). */
export const InsertBody = Type.Object({
  table: Type.String({description: 'an identifier; the table is made on first insert'}),
  fields: Type.Object({}, {description: "the document's own fields"}),
});
export type InsertBody = Static<typeof InsertBody>;

/** The changes of a patch to top-level fields: any of these, but at most one per field. */
const changes = {
  patch: Type.Optional(Type.Object({}, {description: 'fields to set to new values; null is stored as null'})),
  unset: Type.Optional(Type.Array(Type.String(), {description: 'fields to remove'})),
  increment: Type.Optional(
    Type.Record(AnyKey, Type.Number(), {description: 'numbers to add to fields; a missing field counts as 0'}),
  ),
  append: Type.Optional(
    Type.Record(AnyKey, Type.Array(Type.Unknown()), {
      description: 'values to put at the end of an array; a missing field counts as []',
    }),
  ),
  remove: Type.Optional(
    Type.Record(AnyKey, Type.Array(Type.Unknown()), {
      description: 'values of which all equal elements leave an array; a missing field stays missing',
    }),
  ),
};

/** PATCH …/documents/{table}/{document_id} */
export const PatchBody = Type.Object(changes, {additionalProperties: false});
export type FieldChanges = Static<typeof PatchBody>;

/** PUT …/documents/{table}/{document_id}: the complete new document. */
export const PutBody = Type.Object(
  {fields: Type.Object({}, {description: "the document's own fields, all of them"})},
  {additionalProperties: false},
);

/** POST …/upsert: the document with the values of `fields` in a unique index, or a new one. */
export const UpsertBody = Type.Object(
  {
    table: Type.String(),
    by: Type.String({description: 'a unique index of the table; fields has a value for each of its fields'}),
    fields: Type.Object(
      {},
      {description: 'the fields of a new document; without other members, also of an existing one'},
    ),
    ...changes,
  },
  {additionalProperties: false},
);

/** A document in an answer: the system fields, then its own. Times are epoch milliseconds, possibly with fractions. */
export const Document = Type.Object(
  {
    _id: Type.String(),
    _creationTime: Type.Number({description: 'strictly increasing within a table'}),
    _updateTime: Type.Number(),
  },
  {additionalProperties: Type.Unknown({description: 'its own fields, keys sorted'})},
);
export type Document = Static<typeof Document> & Record<string, unknown>;

/** The answer to an insert, a patch and a put. */
export const WrittenDocument = Type.Object({id: Type.String()});
export const FoundDocument = Type.Object({document: Document});
export const DocumentList = Type.Object({data: Type.Array(Document, {description: 'in order of creation'})});
