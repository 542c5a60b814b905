/**
 * Keeps a copy of a tenant's file before it is migrated, `before-upgrade/v<version>/`, so that `svc upgrade --back` can
 * return to it.
 *
 *   nothing ──▶ v16.new: file and log copied ──▶ v16.new: one whole file, its note ──rename──▶ v16 ──▶ migration
 *
 * A process that ends before the rename has changed nothing but `v16.new`, which the next open makes again. A migration
 * that was interrupted goes on at the next open, and the copy from before it stays the one from before.
 *
 * The copy has a timeline of its own: a position in the journal of the migrated file means nothing in it.
 */
import {randomBytes} from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';
import {newestLoggedVersion, readSqliteHeader} from '../../shared/sqlite-header.ts';
import {
  BEFORE_UPGRADE,
  KEPT_NOTE,
  type KeptNote,
  keptNoteIn,
  keptVersion,
  TENANT_FILE,
} from '../../shared/tenant-directory.ts';
import {VERSION} from '../../shared/version.ts';
import {UPGRADE_SPARE_BYTES} from '../limits.ts';
import {numberTransaction} from './commit-number.ts';
import type {Connection} from './connection.ts';
import {syncDirectory} from './file-guard.ts';
import {tenantTimeline} from './identity.ts';
import {metaRow, SET_META} from './meta.ts';
import {LAYOUT_VERSION, NUMBERED_VERSION, STORAGE_VERSION, TIMELINE_VERSION} from './migrations.ts';
import {StoredPages} from './stored-pages.ts';

/** The file system cannot share blocks, or not between these files. */
const CANNOT_SHARE: ReadonlySet<string> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY']);

/** The changes, about one each, so that a test can end the process between any two. */
export const KEEPING_STEPS = {
  makeDirectory: (path: string) => mkdirSync(path, {recursive: true, mode: 0o700}),
  copy: copyCheaply,
  prepare: ownTimeline,
  writeNote: (path: string, text: string) => writeFileSync(path, text, {mode: 0o600, flush: true}),
  syncFile,
  syncDirectory,
  rename: renameSync,
  remove: (path: string) => rmSync(path, {recursive: true, force: true}),
};
export type KeepingSteps = typeof KEEPING_STEPS;

/**
 * Runs before SQLite opens the file, whose log is known to be whole.
 * @throws session.storage_full 507: there is no space for the copy; nothing was changed
 */
export function keepBeforeUpgrade(directory: string, now = Date.now, steps: KeepingSteps = KEEPING_STEPS): void {
  const path = join(directory, TENANT_FILE);
  const version = versionOf(path);
  if (version === 0 || version >= STORAGE_VERSION) return;
  const kept = join(directory, BEFORE_UPGRADE);
  if (isUnfinished(kept, version)) return;
  const place = join(kept, `v${version}`);
  const made = `${place}.new`;
  steps.remove(made);
  try {
    steps.makeDirectory(made);
    for (const end of ['', '-wal']) if (sizeOf(path + end) > 0) steps.copy(path + end, join(made, TENANT_FILE + end));
    const facts = steps.prepare(join(made, TENANT_FILE), version);
    const note: KeptNote = {format: 1, from: version, to: STORAGE_VERSION, svc: VERSION, made_ms: now(), ...facts};
    steps.writeNote(join(made, KEPT_NOTE), `${JSON.stringify(note)}\n`);
    steps.syncFile(join(made, TENANT_FILE));
    steps.syncDirectory(made);
  } catch (caught) {
    if (isNoSpace(caught) || caught instanceof ServiceError) steps.remove(made);
    throw caught;
  }
  steps.remove(place);
  steps.rename(made, place);
  steps.syncDirectory(kept);
  steps.syncDirectory(directory);
}

/** Of the newest commit, in the file or its log. 0: nothing was stored yet, or it is no file of SQLite. */
function versionOf(path: string): number {
  const header = newestLoggedVersion(path) === 0 ? readSqliteHeader(path) : StoredPages.of(path)?.header;
  return header?.userVersion ?? 0;
}

/** A migration from an earlier version to a later one has begun, and has come this far. */
function isUnfinished(kept: string, version: number): boolean {
  if (!existsSync(kept)) return false;
  return readdirSync(kept).some(name => {
    // A removal that was interrupted leaves a note without its file, or an empty directory.
    const isWhole = [KEPT_NOTE, TENANT_FILE].every(file => existsSync(join(kept, name, file)));
    if (keptVersion(name) === null || !isWhole) return false;
    const note = keptNoteIn(readFileSync(join(kept, name, KEPT_NOTE), 'utf8'));
    return note !== null && note.from < version && version < note.to;
  });
}

/** Shares the blocks where the file system can. @throws session.storage_full 507 */
function copyCheaply(from: string, to: string): void {
  try {
    copyFileSync(from, to, constants.COPYFILE_FICLONE_FORCE);
    return;
  } catch (caught) {
    const {code} = caught as NodeJS.ErrnoException;
    if (code === undefined || !CANNOT_SHARE.has(code)) throw caught;
  }
  const {bavail, bsize} = statfsSync(from);
  const needed = sizeOf(from) + UPGRADE_SPARE_BYTES;
  if (bavail * bsize < needed) {
    const message = `the disk has too little space to keep a copy of the tenant's file before its upgrade: ${needed} bytes are needed, and ${bavail * bsize} are free; nothing was changed`;
    throw new ServiceError('session.storage_full', message);
  }
  copyFileSync(from, to);
}

/** Moves the log into the file, and gives it a timeline. @returns what it was copied from */
function ownTimeline(path: string, version: number): Pick<KeptNote, 'timeline' | 'sequence'> {
  const db = new Database(path);
  try {
    const sequence = db.prepare<[], number>('SELECT coalesce(max(sequence), 0) FROM journal').pluck().get()!;
    const timeline = version < TIMELINE_VERSION ? null : tenantTimeline(db);
    if (timeline !== null) db.transaction(() => setTimeline(db, version)).immediate();
    db.pragma('wal_checkpoint(TRUNCATE)');
    return {timeline, sequence};
  } finally {
    db.close();
  }
}

function setTimeline(db: Connection, version: number): void {
  const row = metaRow('tenant_timeline', randomBytes(16).toString('hex'));
  // Earlier versions have no checksums of these rows.
  if (version >= LAYOUT_VERSION) db.prepare(SET_META).run(...row);
  else db.prepare('UPDATE meta SET value = ? WHERE key = ?').run(row[1], row[0]);
  if (version >= NUMBERED_VERSION) numberTransaction(db);
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function sizeOf(path: string): number {
  return statSync(path, {throwIfNoEntry: false})?.size ?? 0;
}
