/** The tables of service control's records: each row has a name and the JSON of a record. */
import type Database from 'better-sqlite3';
import {ROWS_SUMMED_MAX} from '../../engine/limits.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {type Damage, storageDamaged} from '../../engine/storage/damage.ts';
import {type CheckedColumns, isSoundRow, rowChecksum, rowDamage} from '../../engine/storage/row-checksum.ts';
import {sumsFinding} from '../../engine/storage/row-sums.ts';

export type StoredRecord = {id: string; record: string; damage: Damage | null};

/** Access to one kind of stored record. */
export type RecordTable = {
  /** Name of the kind in messages. */
  readonly noun: string;
  all(): StoredRecord[];
  put(id: string, record: string): void;
  remove(id: string): void;
  /** Null: no row of the table is known to be missing. */
  missing(): ReturnType<typeof storageDamaged> | null;
};

/** @param db the writer's connection */
export function controlRecords(db: Connection, kind: 'sandbox' | 'session'): RecordTable {
  type Row = CheckedColumns<'control_records'> & {id: string; record: string};
  const put = db.prepare<[string, string, string, number]>(
    `INSERT INTO control_records VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, checksum = excluded.checksum`,
  );
  return {
    noun: kind,
    all: () =>
      db
        .prepare<[string], Row>('SELECT * FROM control_records WHERE kind = ?')
        .all(kind)
        .map(row => ({id: row.id, record: row.record, damage: damageOf('control_records', row)})),
    put: (id, record) => put.run(id, kind, record, rowChecksum('control_records', {id, kind, record})),
    remove: removal(db.prepare('DELETE FROM control_records WHERE id = ?')),
    missing: () => missingIn(db, 'control_records'),
  };
}

/** @param db the writer's connection */
export function serviceRecords(db: Connection): RecordTable {
  type Row = CheckedColumns<'services'> & {name: string; record: string};
  const put = db.prepare<[string, string, number]>(
    `INSERT INTO services VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET record = excluded.record, checksum = excluded.checksum`,
  );
  return {
    noun: 'service',
    all: () =>
      db
        .prepare<[], Row>('SELECT * FROM services')
        .all()
        .map(row => ({id: row.name, record: row.record, damage: damageOf('services', row)})),
    put: (name, record) => put.run(name, record, rowChecksum('services', {name, record})),
    remove: removal(db.prepare('DELETE FROM services WHERE name = ?')),
    missing: () => missingIn(db, 'services'),
  };
}

/** Whether there are services: without any, service control need not be loaded. */
export function hasServices(db: Connection): boolean {
  return db.prepare('SELECT 1 FROM services LIMIT 1').get() !== undefined;
}

function removal(statement: Database.Statement<[string]>): (id: string) => void {
  return id => void statement.run(id);
}

function damageOf<Kind extends 'control_records' | 'services'>(kind: Kind, row: CheckedColumns<Kind>): Damage | null {
  return isSoundRow(kind, row) ? null : rowDamage(kind, row);
}

function missingIn(db: Connection, kind: 'control_records' | 'services'): ReturnType<typeof storageDamaged> | null {
  const finding = sumsFinding(db, kind, ROWS_SUMMED_MAX);
  return finding === null ? null : storageDamaged({check: 'rows', stored: finding});
}
