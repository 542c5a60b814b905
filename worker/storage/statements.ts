/** The prepared statements of the writer connection. Reads that serve clients are in `reader.ts`, on their own connection. */
import type Database from 'better-sqlite3';
import type {DocumentRow} from '../queries/reader.ts';
import type {Connection} from './database.ts';

type Run<P extends unknown[]> = Database.Statement<P>;

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: Connection) {
  const run = <P extends unknown[]>(sql: string): Run<P> => db.prepare<P>(sql);
  return {
    begin: run<[]>('BEGIN IMMEDIATE'),
    commit: run<[]>('COMMIT'),
    rollback: run<[]>('ROLLBACK'),
    savepoint: run<[]>('SAVEPOINT w'),
    release: run<[]>('RELEASE w'),
    rollbackTo: run<[]>('ROLLBACK TO w'),

    documentById: db.prepare<[string], DocumentRow>('SELECT * FROM documents WHERE id = ?'),
    documentsFrom: db.prepare<[number, number, number], DocumentRow>(
      'SELECT * FROM documents WHERE doc > ? AND doc <= ? ORDER BY doc LIMIT ?',
    ),
    documentByDoc: db.prepare<[number], DocumentRow>('SELECT * FROM documents WHERE doc = ?'),
    insertDocument: run<[number, string, number, number, string, number]>(
      'INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)',
    ),
    updateDocument: run<[number, string, number, number]>(
      'UPDATE documents SET updated = ?, body = ?, flags = ? WHERE doc = ?',
    ),
    deleteDocument: run<[number]>('DELETE FROM documents WHERE doc = ?'),

    insertEntry: run<[number, Buffer, number]>('INSERT OR IGNORE INTO index_entries VALUES (?, ?, ?)'),
    deleteEntry: run<[number, Buffer, number]>(
      'DELETE FROM index_entries WHERE index_number = ? AND key = ? AND doc = ?',
    ),
    deleteEntries: run<[number, number]>(
      `DELETE FROM index_entries WHERE (index_number, key, doc) IN
         (SELECT index_number, key, doc FROM index_entries WHERE index_number = ? LIMIT ?)`,
    ),

    insertTable: run<[number, string, number, number, string | null]>('INSERT INTO tables VALUES (?, ?, ?, ?, ?)'),
    updateTableCounters: run<[number, number, number]>(
      'UPDATE tables SET last_n = ?, last_created = ? WHERE number = ?',
    ),
    updateTableFields: run<[string | null, number]>('UPDATE tables SET fields = ? WHERE number = ?'),
    insertIndex: run<[number, number, string, string, string, number]>('INSERT INTO indexes VALUES (?, ?, ?, ?, ?, ?)'),
    updateIndex: run<[string, number, number]>('UPDATE indexes SET state = ?, built_to = ? WHERE number = ?'),
    deleteIndex: run<[number]>('DELETE FROM indexes WHERE number = ?'),

    journalHead: db.prepare<[], {sequence: number; record: string; digest: string}>(
      'SELECT * FROM journal ORDER BY sequence DESC LIMIT 1',
    ),
    journalDigest: db.prepare<[number], string>('SELECT digest FROM journal WHERE sequence = ?').pluck(),
    appendJournal: run<[number, string, string]>('INSERT INTO journal VALUES (?, ?, ?)'),
    trimJournal: run<[number]>('DELETE FROM journal WHERE sequence < ?'),

    meta: db.prepare<[string], string | number>('SELECT value FROM meta WHERE key = ?').pluck(),
    setMeta: run<[string, string | number]>(
      'INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    ),

    idempotent: db.prepare<[string], {request: string; status: number; body: string; created_ms: number}>(
      'SELECT request, status, body, created_ms FROM idempotency WHERE key = ?',
    ),
    insertIdempotent: run<[string, string, number, string, number]>(
      'INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?)',
    ),
    expireIdempotent: run<[number, number]>(
      'DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE created_ms < ? ORDER BY created_ms LIMIT ?)',
    ),
  };
}
