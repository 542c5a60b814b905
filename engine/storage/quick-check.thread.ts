/** Thread entry: checks the file named in workerData and posts the damage it finds, or null. */
import {parentPort, workerData} from 'node:worker_threads';
import Database from 'better-sqlite3';
import {openReader} from './database.ts';

const text = check((workerData as {path: string}).path);
parentPort?.postMessage(text === 'ok' ? null : text);

function check(path: string): string {
  try {
    const db = openReader(path);
    const findings = db.pragma('quick_check(10)') as {quick_check: string}[];
    db.close();
    return findings.map(row => row.quick_check).join('; ');
  } catch (caught) {
    // Some damage ends the check itself.
    if (caught instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(caught.code)) return caught.message;
    throw caught;
  }
}
