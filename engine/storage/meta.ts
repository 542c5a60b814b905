/** The single values of a tenant's file (`meta`), each with a checksum like other rows. */
import type {Connection} from './connection.ts';
import {type CheckedColumns, checkedRowOf, rowChecksum} from './row-checksum.ts';

type MetaRow = CheckedColumns<'meta'>;

/** Sets a value and its checksum. */
export const SET_META = `INSERT INTO meta (key, value, checksum) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum`;

/** The parameters of `SET_META`. */
export function metaRow(key: string, value: string | number): [key: string, value: string | number, checksum: number] {
  return [key, value, rowChecksum('meta', {key, value})];
}

/** Undefined: it was never set. @throws op.storage_damaged 503 */
export function storedMeta(db: Connection, key: string): string | number | undefined {
  const row = db.prepare<[string], MetaRow>('SELECT * FROM meta WHERE key = ?').get(key);
  return row === undefined ? undefined : (checkedRowOf('meta', row).value ?? undefined);
}
