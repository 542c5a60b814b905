/**
 * Thread entry: copies the file named in workerData as of one commit to a file that any SQLite opens, and posts its
 * length and SHA-256. The copy is made in parts, so that its bounds are checked, within one read transaction, which
 * keeps the WAL from being reset.
 */
import {createHash} from 'node:crypto';
import {closeSync, openSync, readSync, statSync} from 'node:fs';
import {parentPort, workerData} from 'node:worker_threads';
import Database from 'better-sqlite3';
import {openReader} from '../../../../engine/storage/database.ts';
import {EXPORT_LOG_BYTES_MAX, FILE_COPY_MS_MAX, FILE_COPY_PAGES} from '../../limits.ts';

export type FileCopied = {bytes: number; sha256: string} | {refused: 'too_long'};

const CHUNK_BYTES = 1024 * 1024;
const {path, to} = workerData as {path: string; to: string};
const endMs = performance.now() + FILE_COPY_MS_MAX;
const logBytes = logLength() + EXPORT_LOG_BYTES_MAX;

class TooLong extends Error {}

parentPort?.postMessage(await copied());

async function copied(): Promise<FileCopied> {
  const db = openReader(path);
  try {
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    await db.backup(to, {
      progress: () => {
        if (performance.now() > endMs || logLength() > logBytes) throw new TooLong();
        return FILE_COPY_PAGES;
      },
    });
  } catch (caught) {
    if (caught instanceof TooLong) return {refused: 'too_long'};
    throw caught;
  } finally {
    db.close();
  }
  const copy = new Database(to);
  copy.pragma('journal_mode = DELETE');
  copy.close();
  return measured();
}

function measured(): FileCopied {
  const hash = createHash('sha256');
  const fd = openSync(to, 'r');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let bytes = 0;
  for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) {
    hash.update(chunk.subarray(0, read));
    bytes += read;
  }
  closeSync(fd);
  return {bytes, sha256: hash.digest('hex')};
}

function logLength(): number {
  return statSync(`${path}-wal`, {throwIfNoEntry: false})?.size ?? 0;
}
