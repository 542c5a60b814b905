/** Wire types of the document routes. POST|GET|PATCH|DELETE /api/tenants/{tenant_id}/documents/… */
import Type, {type Static} from 'typebox';

/** POST …/documents. Unknown fields are ignored. `fields` is checked as a value of its own (see values/json.ts). */
export const InsertBody = Type.Object({
  table: Type.String({description: 'an identifier; the table is made on first insert'}),
  fields: Type.Object({}, {description: "the document's own fields"}),
});
export type InsertBody = Static<typeof InsertBody>;

/** PATCH …/documents/{table}/{document_id}: a shallow merge of top-level fields; null is stored as null. */
export const PatchBody = Type.Object({
  patch: Type.Object({}, {description: 'top-level fields to set'}),
});
export type PatchBody = Static<typeof PatchBody>;

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

/** Of an insert and a patch. */
export const WrittenDocument = Type.Object({id: Type.String()});
export const FoundDocument = Type.Object({document: Document});
export const DocumentList = Type.Object({data: Type.Array(Document, {description: 'in order of creation'})});
