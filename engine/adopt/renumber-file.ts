/**
 * Gives a tenant's closed file another generation: the tenants of a server alone get those of the cluster that they become a
 * part of. It stays the same history, so cursors and versions stay what they are. Repeating it changes nothing.
 */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {numberTransaction} from '../storage/commit-number.ts';
import {openWriter} from '../storage/database.ts';
import {syncDirectory} from '../storage/file-guard.ts';
import {readIdentity} from '../storage/identity.ts';
import {metaRow, SET_META} from '../storage/meta.ts';

/** @param directory of the tenant; its file is whole, and no process has it open */
export function renumberFile(directory: string, generation: number): void {
  const db = openWriter(join(directory, TENANT_FILE), false);
  try {
    if (readIdentity(db)?.generation !== generation) {
      db.transaction(() => {
        db.prepare<[string, string | number, number]>(SET_META).run(...metaRow('tenant_generation', generation));
        numberTransaction(db);
      }).immediate();
    }
    // Before the log is emptied, or its commits would count as lost.
    rmSync(join(directory, LOGGED_FILE), {force: true});
    syncDirectory(directory);
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}
