/**
 * Copies files of tenants within the data directory. Where the file system can do it (btrfs, XFS, ZFS, APFS), the copy
 * shares the blocks of the original until one of them is written, so it takes no time and no space.
 */
import {constants, copyFile as copyFileOfNode, type FileHandle, open, statfs, truncate} from 'node:fs/promises';
import {dirname} from 'node:path';
import {ServiceError} from '../../shared/errors.ts';
import {spaceFindingOf} from '../../shared/free-space.ts';

/** What a file system says that cannot share the blocks of these files. */
const NOT_SHARED: ReadonlySet<string> = new Set([
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOTTY',
  'EXDEV',
  'EINVAL',
  'ENOSYS',
  'EPERM',
]);

/**
 * Copies a file that code of a tenant may have put there: a link, a device or a FIFO is refused. Durable when it
 * resolves, but for the name.
 * @param to must not exist. @param bytes of the file that are copied; null: all
 * @param copyFile for tests
 * @returns whether the blocks are shared. @throws session.storage_full 507; errors of the file system
 */
export async function copyShared(
  from: string,
  to: string,
  bytes: number | null,
  copyFile = copyFileOfNode,
): Promise<boolean> {
  const {O_RDONLY, O_NOFOLLOW, O_NONBLOCK, COPYFILE_EXCL, COPYFILE_FICLONE_FORCE} = constants;
  const source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const {nlink, size} = await checked(source, from);
    if (nlink !== 1) throw new Error(`${from} has other names, too`);
    // Only Linux has users for tenants, who could replace the file meanwhile.
    const path = process.platform === 'linux' ? `/proc/self/fd/${source.fd}` : from;
    const isShared = await copyFile(path, to, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE).then(
      () => true,
      (caught: NodeJS.ErrnoException) => {
        if (NOT_SHARED.has(caught.code ?? '')) return false;
        throw caught;
      },
    );
    if (!isShared) {
      await requireSpace(to, size);
      await copyFile(path, to, COPYFILE_EXCL);
    }
    if (bytes !== null) await truncate(to, bytes);
    const copy = await open(to, 'r+');
    await copy.sync().finally(() => copy.close());
    return isShared;
  } finally {
    await source.close();
  }
}

async function checked(source: FileHandle, path: string): Promise<{nlink: number; size: number}> {
  const stat = await source.stat();
  if (!stat.isFile()) throw new Error(`${path} is not a file`);
  return stat;
}

/** @throws session.storage_full 507 */
async function requireSpace(path: string, bytes: number): Promise<void> {
  const finding = spaceFindingOf(await statfs(dirname(path)), bytes);
  if (finding !== null) throw new ServiceError('session.storage_full', `no space for a copy of the file: ${finding}`);
}
