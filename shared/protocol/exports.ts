/** Wire types of exports. GET /api/tenants/{tenant_id}/export */
import Type from 'typebox';
import {Document} from './documents.ts';

export const ExportQuery = Type.Object(
  {table: Type.Optional(Type.String({description: 'its documents are the lines; absent: all tables'}))},
  {additionalProperties: false},
);

export const ExportLine = Type.Union([Document, Type.Object({table: Type.String(), document: Document})]);
