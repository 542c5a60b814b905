/** Table names: a letter, then letters, digits and underscores. */
import {ServiceError} from '../../shared/errors.ts';
import {TABLE_NAME_CHARS_MAX} from '../../shared/limits.ts';

const TABLE_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

export function isTableName(name: string): boolean {
  return name.length <= TABLE_NAME_CHARS_MAX && TABLE_NAME.test(name);
}

/** @throws op.invalid_input 400 */
export function checkTableName(name: string): void {
  if (isTableName(name)) return;
  const shown = JSON.stringify(name.length > TABLE_NAME_CHARS_MAX ? `${name.slice(0, TABLE_NAME_CHARS_MAX)}…` : name);
  throw new ServiceError(
    'op.invalid_input',
    `${shown} cannot be a table: a name is a letter, then letters, digits and _, at most ${TABLE_NAME_CHARS_MAX} characters`,
  );
}
