import {ServiceError} from '../../shared/errors.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import type {Fields} from './commit.ts';

/** @throws op.schema_violation 400 */
export function checkSchema(table: CatalogTable, fields: Fields): void {
  const violation = table.compiled?.(fields as never) ?? null;
  if (violation === null) return;
  if ('message' in violation) {
    throw new ServiceError(
      'op.schema_violation',
      `the document does not match the schema of table ${table.name}: ${violation.message}`,
      {table: table.name, message: violation.message},
    );
  }
  const {field, expected, found} = violation;
  throw new ServiceError(
    'op.schema_violation',
    `table ${table.name}: field ${JSON.stringify(field)} must be ${expected}, found ${found}`,
    {table: table.name, field, expected, found},
  );
}
