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
