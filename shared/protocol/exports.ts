/** Wire types of exports. GET /api/tenants/{tenant_id}/export */
import Type from 'typebox';
import {Document} from './documents.ts';
import {TableSchema} from './schema.ts';

export const ExportQuery = Type.Object(
  {
    table: Type.Optional(Type.String({description: 'its documents are the lines; absent: all tables. CSV needs it'})),
    filters: Type.Optional(
      Type.String({
        description: 'only documents of the table that match: JSON, as `filters` of POST …/query. Not with for=restore',
      }),
    ),
    format: Type.Optional(Type.Enum(['jsonl', 'csv'], {description: 'default: jsonl, JSON lines'})),
    for: Type.Optional(
      Type.Enum(['restore'], {
        description:
          'restore: for POST …/import?mode=restore, with the schemas of tables and numbers that JSON cannot hold. Not of CSV',
      }),
    ),
    columns: Type.Optional(
      Type.String({
        description:
          'of CSV: names of fields with commas between them; absent: all that the documents have, for which they are read twice',
      }),
    ),
  },
  {additionalProperties: false},
);

export const ExportLine = Type.Union([
  Document,
  Type.Object({
    table: Type.String(),
    document: Document,
    floats: Type.Optional(
      Type.Literal(true, {description: 'the document has numbers that JSON cannot hold, as {"$float": …}'}),
    ),
  }),
  Type.Object(
    {table: Type.String(), schema: TableSchema},
    {description: 'with for=restore, before the documents of the table'},
  ),
]);
