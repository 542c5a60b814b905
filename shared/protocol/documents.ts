/** Wire types of the document routes. POST|GET|PATCH|DELETE /api/tenants/{tenant_id}/documents/… */
import Type, {type Static} from 'typebox';
import {AnyKey} from './any-key.ts';

/** POST …/documents. Unknown fields are ignored. `fields` is checked as a value of its own (see values/json.ts). */
export const InsertBody = Type.Object({
  table: Type.String({description: 'an identifier; the table is made on first insert'}),
  fields: Type.Object({}, {description: "the document's own fields"}),
});
export type InsertBody = Static<typeof InsertBody>;

/** What a patch does to top-level fields: any of these, and none of them twice to one field. */
const changes = {
  patch: Type.Optional(
    Type.Object({}, {description: 'fields to set, replacing what they hold; null is stored as null'}),
  ),
  unset: Type.Optional(Type.Array(Type.String(), {description: 'fields to remove'})),
  increment: Type.Optional(
    Type.Record(AnyKey, Type.Number(), {description: 'what to add to a number; a missing field counts as 0'}),
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

/** PUT …/documents/{table}/{document_id}: what the document is from then on. */
export const PutBody = Type.Object(
  {fields: Type.Object({}, {description: "the document's own fields, all of them"})},
  {additionalProperties: false},
);

/** POST …/upsert: the document that has the values of `fields` in a unique index, or a new one. */
export const UpsertBody = Type.Object(
  {
    table: Type.String(),
    by: Type.String({description: 'a unique index of the table; fields has a value for each of its fields'}),
    fields: Type.Object(
      {},
      {description: 'of a new document; without any change beside it also what the old one becomes'},
    ),
    ...changes,
  },
  {additionalProperties: false},
);

/** A document as it is shown: the system fields, then its own. Times are epoch milliseconds, fractions possible. */
export const Document = Type.Object(
  {
    _id: Type.String(),
    _creationTime: Type.Number({description: 'strictly increasing within a table'}),
    _updateTime: Type.Number(),
  },
  {additionalProperties: Type.Unknown({description: 'its own fields, keys sorted'})},
);
export type Document = Static<typeof Document> & Record<string, unknown>;

/** Of an insert, a patch and a put. */
export const WrittenDocument = Type.Object({id: Type.String()});
export const FoundDocument = Type.Object({document: Document});
export const DocumentList = Type.Object({data: Type.Array(Document, {description: 'in order of creation'})});
