/**
 * Adds checksums to rows of small tables that an older version wrote without them. The row's current content becomes
 * the reference, because earlier damage cannot be detected.
 */
import type {Connection} from './connection.ts';
import {type CheckedColumns, manifestCrc, type RowKind, rowChecksum} from './row-checksum.ts';

/** The column that identifies a row. Stored replies are left out, because they expire after a day. */
const KEY_OF = {
  jobs: 'id',
  job_results: 'id',
  crons: 'name',
  environment: 'name',
  tables: 'number',
  indexes: 'number',
  meta: 'key',
  deployments: 'id',
} as const satisfies Partial<Record<RowKind, string>>;

export type FilledKind = keyof typeof KEY_OF;
export const FILLED_KINDS = Object.keys(KEY_OF) as FilledKind[];

export function isFilled(kind: RowKind): kind is FilledKind {
  return kind in KEY_OF;
}

/** Reads all rows when none lacks a checksum, as reading them does. */
export function hasMissingChecksums(db: Connection, kind: FilledKind): boolean {
  return db.prepare(`SELECT 1 FROM ${kind} NOT INDEXED WHERE checksum IS NULL LIMIT 1`).get() !== undefined;
}

export function addMissingChecksums<Kind extends FilledKind>(db: Connection, kind: Kind, rowsMax: number): void {
  const key = KEY_OF[kind];
  const rows = db
    .prepare<[number], CheckedColumns<Kind> & Record<string, string | number>>(
      `SELECT * FROM ${kind} NOT INDEXED WHERE checksum IS NULL LIMIT ? + 0`,
    )
    .all(rowsMax);
  const set = db.prepare<[number, string | number]>(`UPDATE ${kind} SET checksum = ? WHERE ${key} = ?`);
  for (const row of rows) set.run(rowChecksum(kind, row), row[key]!);
}

export function addManifestCrcs(db: Connection): void {
  const ids = db.prepare<[], number>('SELECT id FROM deployments').pluck().all();
  const read = db.prepare<[number], string>('SELECT manifest FROM deployments WHERE id = ?').pluck();
  const set = db.prepare<[number, number]>('UPDATE deployments SET manifest_crc = ? WHERE id = ?');
  for (const id of ids) set.run(manifestCrc(read.get(id)!), id);
}
