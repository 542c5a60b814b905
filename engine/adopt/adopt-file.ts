/**
 * Makes a file that came from elsewhere that of a tenant: checks it, migrates it, and gives it the identity and the new
 * timeline that the note beside it names. A position in its journal means nothing to those who followed the file that
 * it was copied from.
 *
 *   tenant.sqlite, tenant.adopt ──checked, migrated──▶ ──one transaction──▶ adopted ──the tenant is open──▶ no note
 *
 * A process that ends at any step leaves a file from which it can be repeated: the new timeline in the file is the
 * proof that it was adopted. A tenant's own file that begins a new timeline is not checked: it was served before.
 */
import {existsSync, readFileSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {Worker} from 'node:worker_threads';
import Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import type {AdoptCheck} from '../../shared/ipc/errand.ts';
import {ADOPT_FILE, type AdoptNote, adoptNoteIn, LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {numberTransaction, storedCommitNumber} from '../storage/commit-number.ts';
import type {Connection} from '../storage/connection.ts';
import {openWriter} from '../storage/database.ts';
import {findLostLog, syncDirectory} from '../storage/file-guard.ts';
import {damagedError, readIdentity, tenantTimeline} from '../storage/identity.ts';
import {metaRow, SET_META} from '../storage/meta.ts';
import {checkInBackground} from '../storage/quick-check.ts';
import {openFailure} from '../storage/tenant-file.ts';
import {findLogDamage} from '../storage/wal-log.ts';
import {schemaFinding} from './tenant-schema.ts';

/** Meta row: JSON of where an adopted file came from. */
export const ORIGIN_KEY = 'tenant_origin';

export function isToAdopt(directory: string): boolean {
  return existsSync(join(directory, ADOPT_FILE));
}

/** The tenant is open: it is adopted for good. */
export function removeAdoptNote(directory: string): void {
  rmSync(join(directory, ADOPT_FILE), {force: true});
  syncDirectory(directory);
}

/**
 * @returns the note. @throws op.invalid_input 400: the file is not one that can be adopted; op.storage_damaged 503: the
 * note is damaged
 */
export async function adoptFile(directory: string, check: AdoptCheck): Promise<AdoptNote> {
  const note = adoptNoteIn(readFileSync(join(directory, ADOPT_FILE), 'utf8'));
  if (note === null) throw damagedError(`${join(directory, ADOPT_FILE)} is not a note of an adoption`);
  const path = join(directory, TENANT_FILE);
  const lost = findLostLog(directory);
  if (lost !== null) throw damagedError(lost);
  try {
    if (inspect(path) === note.timeline) return note;
    if (check === 'structure' && note.is_own !== true) refuse(await quickFinding(path));
    adopt(path, note);
    if (check === 'whole') refuse(await wholeFinding(path, note));
    return note;
  } catch (caught) {
    throw openFailure(caught, directory);
  }
}

/** Reads the file as untrusted input, without running any statement on its tables. @returns its timeline */
function inspect(path: string): string {
  refuse(findLogDamage(path)?.finding ?? null);
  return readable(() => {
    const db = new Database(path, {readonly: true, fileMustExist: true});
    try {
      db.pragma('trusted_schema = OFF');
      db.pragma('cell_size_check = ON');
      refuse(schemaFinding(db), 'the file');
      return tenantTimeline(db);
    } finally {
      db.close();
    }
  });
}

function adopt(path: string, note: AdoptNote): void {
  readable(() => {
    const db = opened(path);
    try {
      db.transaction(() => identify(db, note)).immediate();
      // Before the log is emptied, or its commits would count as lost.
      rmSync(join(dirname(path), LOGGED_FILE), {force: true});
      syncDirectory(dirname(path));
      db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      db.close();
    }
  });
}

/** Damage that only the tables show is a fault of the file that was sent. */
function opened(path: string): Connection {
  try {
    return openWriter(path, false);
  } catch (caught) {
    if (!(caught instanceof ServiceError) || caught.code !== 'op.storage_damaged') throw caught;
    return refused((caught.cause as Error).message.replace(`${path}: `, ''));
  }
}

function identify(db: Connection, note: AdoptNote): void {
  const set = db.prepare<[string, string | number, number]>(SET_META);
  const {tenant, generation, created_ms: createdMs, timeline} = note;
  const origin = note.origin ?? {
    timeline: readIdentity(db)?.timeline ?? tenantTimeline(db),
    commit: storedCommitNumber(db),
  };
  set.run(...metaRow(ORIGIN_KEY, JSON.stringify(origin)));
  set.run(...metaRow('tenant_id', tenant));
  set.run(...metaRow('tenant_generation', generation));
  set.run(...metaRow('tenant_created_ms', createdMs));
  set.run(...metaRow('tenant_timeline', timeline));
  numberTransaction(db);
}

/** Null: none. */
function quickFinding(path: string): Promise<string | null> {
  return new Promise((resolve, reject) => checkInBackground(path, resolve, reject));
}

/** Null: none. */
function wholeFinding(path: string, {tenant, generation}: AdoptNote): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./verify.thread.js', import.meta.url), {
      workerData: {path, owner: {tenant, generation}},
    });
    thread.on('message', resolve);
    thread.on('error', reject);
  });
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (caught) {
    if (!(caught instanceof Database.SqliteError) || !/^SQLITE_(CORRUPT|NOTADB|ERROR|CONSTRAINT)/.test(caught.code)) {
      throw caught;
    }
    return refused(caught.code === 'SQLITE_NOTADB' ? 'it is not an SQLite file' : caught.message);
  }
}

function refuse(finding: string | null, subject = 'the file is damaged:'): void {
  if (finding !== null) throw new ServiceError('op.invalid_input', `${subject} ${finding}`);
}

function refused(finding: string): never {
  throw new ServiceError('op.invalid_input', `the file cannot be a tenant's: ${finding}`);
}
