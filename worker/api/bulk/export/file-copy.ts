/**
 * Streams the tenant's whole file as of one commit. A thread makes a copy beside it, which loses its name before the
 * first byte is sent, so nothing of it is left when the process ends. Writes go on; the copy is given up when it takes
 * too long, or the WAL, which it keeps from being reset, grows too much.
 */
import {rmSync, statSync} from 'node:fs';
import {type FileHandle, open} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {Worker} from 'node:worker_threads';
import type {CommitGroups} from '../../../../engine/commit/group.ts';
import type {OutgoingBody} from '../../../../engine/io/outgoing-body.ts';
import {CHUNK_CHARS} from '../../../../engine/journal/chunks.ts';
import {openFailure} from '../../../../engine/storage/tenant-file.ts';
import {conflict, overloaded, ServiceError} from '../../../../shared/errors.ts';
import {spaceFinding} from '../../../../shared/free-space.ts';
import type {HeaderList} from '../../../../shared/ipc/operations.ts';
import {FILE_COPY} from '../../../../shared/tenant-directory.ts';
import type {FileCopied} from './file-copy.thread.ts';

export type CopyStream = {start: (headers: HeaderList) => OutgoingBody};

/** Paths of the files that are being copied. */
const underWay = new Set<string>();

/** @throws op.conflict 409, session.storage_full 507, session.overloaded 503, before the answer has begun */
export async function streamFile(
  {path, groups}: {path: string; groups: Pick<CommitGroups, 'settled'>},
  to: CopyStream,
): Promise<void> {
  if (underWay.has(path)) throw conflict('a file of this tenant is being exported; try again when it is done');
  underWay.add(path);
  let file: FileHandle | null = null;
  try {
    const copy = await copyOf(path);
    file = copy.file;
    // The copy may have a commit that is not durable yet.
    await groups.settled();
    const body = to.start([
      ['content-type', 'application/vnd.sqlite3'],
      ['x-svc-file-bytes', String(copy.bytes)],
      ['x-svc-file-sha256', copy.sha256],
    ]);
    await sent(file, body);
  } catch (caught) {
    throw openFailure(caught, dirname(path));
  } finally {
    await file?.close();
    underWay.delete(path);
  }
}

async function sent(file: FileHandle, body: OutgoingBody): Promise<void> {
  while (body.isOpen) {
    const {buffer, bytesRead} = await file.read(Buffer.allocUnsafe(CHUNK_CHARS), 0, CHUNK_CHARS, null);
    if (bytesRead === 0) {
      body.end();
      return;
    }
    await body.ready;
    body.write(buffer.subarray(0, bytesRead));
  }
}

async function copyOf(path: string): Promise<{file: FileHandle; bytes: number; sha256: string}> {
  const to = join(dirname(path), FILE_COPY);
  requireSpace(path);
  rmSync(to, {force: true});
  try {
    const copied = await new Promise<FileCopied>((resolve, reject) => {
      const thread = new Worker(new URL('./file-copy.thread.js', import.meta.url), {workerData: {path, to}});
      thread.on('message', resolve);
      thread.on('error', reject);
    });
    if ('refused' in copied)
      throw overloaded('the copy took too long beside the writes; try again when there are fewer');
    return {...copied, file: await open(to, 'r')};
  } finally {
    rmSync(to, {force: true});
  }
}

/** @throws session.storage_full 507 */
function requireSpace(path: string): void {
  const wanted = statSync(path).size + (statSync(`${path}-wal`, {throwIfNoEntry: false})?.size ?? 0);
  const finding = spaceFinding(dirname(path), wanted);
  if (finding !== null) throw new ServiceError('session.storage_full', `no space for a copy of the file: ${finding}`);
}
