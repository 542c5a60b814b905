/**
 * Stores a file that is too large for a pack, unless it is a base that ends before the repository does. Such a base is
 * of an older copy of the tenant's file, put back while the server was stopped, or was left in the spool by an earlier
 * process. Stored in the same timeline, it would lose against the newer commits of the history that ended.
 */
import {closeSync} from 'node:fs';
import {readAt} from '../../engine/copies/bytes.ts';
import {DIGEST_BYTES} from '../../engine/copies/page-digest.ts';
import {type Position, SUM_BYTES} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import type {SpooledFile, UnreadSet} from '../../engine/copies/spool-view.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {openLarge, type SizeLimits, Unusable} from './next-segment.ts';
import type {TenantCopy} from './tenant-copy.ts';

/** @throws Unusable; as `RepositoryWriter.addLarge` */
export async function storeLarge(
  writer: RepositoryWriter,
  {tenant, directory, position = null}: TenantCopy,
  file: SpooledFile,
  limits: SizeLimits,
): Promise<'stored' | 'behind' | 'gone'> {
  const open = openLarge(directory, position, file, limits);
  if (open === null) return 'gone';
  const kind = file.last === null ? 'base' : 'set';
  try {
    if (kind === 'base' && position !== null && isBehind(open, position)) return 'behind';
    await writer.addLarge({tenant, kind, path: `/proc/self/fd/${open.fd}`, bytes: open.bytes});
    return 'stored';
  } catch (caught) {
    throw caught instanceof PageSetError ? new Unusable(file, caught) : caught;
  } finally {
    closeSync(open.fd);
  }
}

/** At the same commit, the digest of the pages decides. */
function isBehind({head: {timeline, last}, fd, bytes}: UnreadSet, {commit, digest, ...at}: Position): boolean {
  if (timeline !== at.timeline || last > commit) return false;
  return last < commit || !readAt(fd, bytes - SUM_BYTES - DIGEST_BYTES, DIGEST_BYTES).equals(digest);
}
