/** Summarises a tenant's file for an operator who decides about its directory: its tenant, size and age. */
import {join} from 'node:path';
import {openReader} from '../../engine/storage/database.ts';
import {readIdentity, type StoredIdentity} from '../../engine/storage/identity.ts';
import {foreignOwner} from '../../engine/verify/foreign-owner.ts';
import {irregularFiles, statFile} from '../../shared/regular-file.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {fileStateOf} from '../../supervisor/files/tenant-files.ts';

export type FilePeek = {
  /** Null: the file was last opened before files recorded their tenant, or it cannot be read. */
  identity: StoredIdentity | null;
  documents: number | null;
  /** Of the file and its log together. */
  bytes: number;
  /** Epoch milliseconds; null: there is no file. */
  lastWriteMs: number | null;
  /** What is wrong with it; null: it can be read and belongs to this tenant. */
  finding: string | null;
};

export function peekAt(directory: string, owner: {id: string; generation: number}): FilePeek {
  const path = join(directory, TENANT_FILE);
  const stats = [path, `${path}-wal`].flatMap(file => statFile(file) ?? []);
  const peek: FilePeek = {
    identity: null,
    documents: null,
    bytes: stats.reduce((sum, {size}) => sum + size, 0),
    lastWriteMs: stats.length === 0 ? null : Math.floor(Math.max(...stats.map(({mtimeMs}) => mtimeMs))),
    finding: null,
  };
  const [odd] = irregularFiles(directory, 'tenant.');
  if (odd !== undefined) return {...peek, finding: odd};
  const {isLost, isNew} = fileStateOf(directory);
  if (isNew) return {...peek, documents: 0};
  if (isLost) return {...peek, finding: 'its file is missing'};
  try {
    const db = openReader(path);
    try {
      const documents = db.prepare<[], number>('SELECT count(*) FROM documents').pluck().get()!;
      const identity = readIdentity(db);
      const foreign = foreignOwner(directory, {tenant: owner.id, generation: owner.generation}, identity);
      const finding = foreign === null ? null : `its file is that of ${foreign}`;
      return {...peek, documents, identity, finding};
    } finally {
      db.close();
    }
  } catch (caught) {
    return {...peek, finding: `its file cannot be read: ${(caught as Error).message}`};
  }
}
