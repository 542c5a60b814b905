/**
 * The supervisor's own SQLite files: which versions this svc knows, and which svc used the directory last
 * (`<data>/written-by.json`). A file of a later version is refused before any file is opened, because SQLite would
 * change its log, and an audit log of an unknown version would be moved aside.
 */
import {writeFileSync} from 'node:fs';
import {rename} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {readNote} from '../../shared/regular-file.ts';
import {readSqliteHeader} from '../../shared/sqlite-header.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {VERSION} from '../../shared/version.ts';
import {REGISTRY_VERSION} from '../files/registry.ts';
import {StartError} from '../files/start-error.ts';
import {AUDIT_VERSION} from '../keys/audit-store.ts';
import {KEYS_VERSION} from '../keys/key-store.ts';

const NOTE = 'written-by.json';

/** Versions that this svc writes, by the names of the files. */
const FILES: Readonly<Record<string, number>> = {
  'registry.sqlite': REGISTRY_VERSION,
  'keys.sqlite': KEYS_VERSION,
  'sessions.sqlite': KEYS_VERSION,
  'audit.sqlite': AUDIT_VERSION,
  'refusals.sqlite': AUDIT_VERSION,
};

type WrittenBy = {svc: string; files: Record<string, number>};

/**
 * Notes that this svc uses the directory from now on, before it changes a file in it.
 * @throws StartError: a file is of a later svc; nothing was changed
 */
export async function claimServerFiles(data: string): Promise<void> {
  const last = readWrittenBy(join(data, NOTE));
  for (const [name, known] of Object.entries(FILES)) {
    // The log of a server that was killed can have a later version than the header.
    const found = Math.max(readSqliteHeader(join(data, name))?.userVersion ?? 0, last?.files[name] ?? 0);
    if (found > known) throw tooNew(join(data, name), {found, known}, last?.svc ?? null);
  }
  const now: WrittenBy = {svc: VERSION, files: FILES};
  if (JSON.stringify(last) === JSON.stringify(now)) return;
  try {
    await writeNote(join(data, NOTE), now);
  } catch (caught) {
    // A server on a full disk serves reads. It does not change the version of a file then, either.
    if (!isNoSpace(caught)) throw caught;
  }
}

async function writeNote(path: string, note: WrittenBy): Promise<void> {
  writeFileSync(`${path}.new`, `${JSON.stringify(note)}\n`, {mode: 0o600, flush: true});
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

function tooNew(path: string, {found, known}: {found: number; known: number}, svc: string | null): StartError {
  const isNamed = svc !== null && svc !== VERSION;
  const by = isNamed ? `, written by svc ${svc}` : '';
  return new StartError(
    `${path} has version ${found}${by}; svc ${VERSION} knows version ${known}: use ${isNamed ? `svc ${svc}` : 'the svc that wrote it'} or a later one. Nothing was changed`,
  );
}

/** Null: no svc has left a note that can be read. */
function readWrittenBy(path: string): WrittenBy | null {
  const note = readNote(path);
  if (note.is !== 'file') return null;
  try {
    const {svc, files} = JSON.parse(note.text) as Partial<WrittenBy>;
    const isNote = typeof svc === 'string' && typeof files === 'object' && files !== null;
    return isNote && Object.values(files).every(Number.isSafeInteger) ? {svc, files} : null;
  } catch (caught) {
    if (caught instanceof SyntaxError || caught instanceof TypeError) return null;
    throw caught;
  }
}
