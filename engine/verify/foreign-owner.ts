/** Whose a file is that lies in a tenant's directory. */
import {join} from 'node:path';
import {readNote} from '../../shared/regular-file.ts';
import {ADOPT_FILE, adoptNoteIn} from '../../shared/tenant-directory.ts';
import type {StoredIdentity} from '../storage/identity.ts';

/**
 * Another tenant whose file this is; null: it is the owner's, has none yet, or waits to become it at the first open, as
 * restored files do.
 */
export function foreignOwner(
  directory: string,
  owner: {tenant: string; generation: number},
  stored: StoredIdentity | null,
): string | null {
  const isOwners = (its: {tenant: string; generation: number}): boolean =>
    its.tenant === owner.tenant && its.generation === owner.generation;
  if (stored === null || isOwners(stored)) return null;
  const found = readNote(join(directory, ADOPT_FILE));
  const note = found.is === 'file' ? adoptNoteIn(found.text) : null;
  const isAwaited = note !== null && isOwners(note) && (note.origin?.timeline ?? stored.timeline) === stored.timeline;
  return isAwaited ? null : `tenant ${stored.tenant} (generation ${stored.generation})`;
}
