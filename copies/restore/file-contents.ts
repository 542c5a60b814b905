/** Reads a restored file without a server: one table, and the deploys and bulk changes that its history has. */
import {CHUNK_CHARS} from '../../engine/journal/chunks.ts';
import {tableRows} from '../../engine/journal/table-rows.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openReader} from '../../engine/storage/database.ts';
import {documentText} from '../../engine/storage/document.ts';
import type {Task} from '../../shared/protocol/tasks.ts';
import {RestoreError} from './restore-error.ts';

/** What happened to a tenant at a time. A restore to a moment before `timeMs` is without it. */
export type TenantEvent = {timeMs: number; kind: 'deploy' | 'task'; id: string; text: string};

/**
 * The documents of a table as JSON lines, in creation order; each chunk is some of them. A table with another name has
 * none. @throws RestoreError; op.storage_damaged
 */
export function* tableLines(path: string, table: string): Generator<string, void, void> {
  const db = openReader(path);
  try {
    const catalog = Catalog.read(db);
    const found = catalog.table(table);
    if (found === undefined) throw new RestoreError('no_table', `there was no table ${JSON.stringify(table)} then`);
    let chunk = '';
    for (const row of tableRows(db, catalog, found)) {
      chunk += `${documentText(row)}\n`;
      if (chunk.length < CHUNK_CHARS) continue;
      yield chunk;
      chunk = '';
    }
    yield chunk;
  } finally {
    db.close();
  }
}

/** Deploys and bulk tasks that the file has records of, by time. */
export function eventsIn(path: string): TenantEvent[] {
  const db = openReader(path);
  try {
    return [...deploysIn(db), ...tasksIn(db)].sort((a, b) => a.timeMs - b.timeMs);
  } finally {
    db.close();
  }
}

function deploysIn(db: Connection): TenantEvent[] {
  type Row = {id: number; activated_at: number; message: string | null};
  const rows = db.prepare<[], Row>('SELECT id, activated_at, message FROM deployments').all();
  return rows.map(({id, activated_at: timeMs, message}) => ({
    timeMs,
    kind: 'deploy',
    id: String(id),
    text: message ?? '',
  }));
}

function tasksIn(db: Connection): TenantEvent[] {
  const rows = db.prepare<[], string>("SELECT record FROM bulk_records WHERE kind = 'task'").pluck().all();
  return rows.map(record => {
    const {id, type, query, changed, created_at: timeMs} = JSON.parse(record) as Task;
    return {timeMs, kind: 'task', id, text: `${type} in ${query.table}, ${changed} documents`};
  });
}
