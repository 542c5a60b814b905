/**
 * The digest of a large file by two threads, each of which takes the next part until there are none. Hashing is most of
 * what a restore computes.
 */
import {Worker} from 'node:worker_threads';
import {DIGEST_PART_BYTES, DIGEST_THREAD_BYTES_LEAST, PAGE_SET_CHUNK_BYTES} from '../limits.ts';
import {digestOfFile, digestOfPages, PagesDigest} from './page-digest.ts';

/** `taken`: parts that one of the threads has taken. */
export type DigestOrder = {fd: number; pages: number; pageBytes: number; taken: Int32Array<SharedArrayBuffer>};

const DIVISION = {thread: new URL('./digest.thread.js', import.meta.url), leastBytes: DIGEST_THREAD_BYTES_LEAST};

/**
 * As `digestOfFile`. Without the second thread, this one hashes all.
 * @param fd stays open until it resolves
 */
export async function digestOfLargeFile(
  fd: number,
  pages: number,
  pageBytes: number,
  {thread, leastBytes} = DIVISION,
): Promise<Buffer> {
  if (pages * pageBytes < leastBytes) return digestOfFile(fd, pages, pageBytes);
  const order: DigestOrder = {fd, pages, pageBytes, taken: new Int32Array(new SharedArrayBuffer(4))};
  const second = inThread(thread, order);
  let own: PagesDigest;
  try {
    own = digestOfParts(order);
  } catch (caught) {
    await second; // it uses the file
    throw caught;
  }
  const other = await second;
  // What it had taken when it failed is not known.
  if (other === null) return digestOfFile(fd, pages, pageBytes);
  own.add(other);
  return own.value;
}

/** Of the parts that this thread takes. */
export function digestOfParts({fd, pages, pageBytes, taken}: DigestOrder): PagesDigest {
  const digest = new PagesDigest();
  const into = Buffer.allocUnsafeSlow(PAGE_SET_CHUNK_BYTES);
  const pagesOfPart = Math.floor(DIGEST_PART_BYTES / pageBytes);
  for (;;) {
    const from = Atomics.add(taken, 0, 1) * pagesOfPart;
    if (from >= pages) return digest;
    digest.add(digestOfPages(fd, {from, to: Math.min(pages, from + pagesOfPart), pageBytes}, into));
  }
}

/** Null: there is no such thread, or it failed. Never rejects, and the thread has ended when it resolves. */
function inThread(thread: URL, order: DigestOrder): Promise<Buffer | null> {
  return new Promise(resolve => {
    try {
      const worker = new Worker(thread, {workerData: order, resourceLimits: {maxOldGenerationSizeMb: 32}});
      let digest: Buffer | null = null;
      worker.on('message', (value: Uint8Array) => {
        digest = Buffer.from(value);
      });
      worker.on('error', () => undefined); // it exits, without a message
      worker.on('exit', () => resolve(digest));
    } catch {
      resolve(null); // the process may not make threads, or the machine has no more of them
    }
  });
}
