/**
 * Where the objects of a repository are: a directory or a bucket. Objects are complete or absent: a reader never sees a
 * part of one. Names have segments of letters, digits, `.`, `_` and `-`, separated by `/`.
 *
 * Every method throws StoreError, and nothing else. A `put` that failed may have stored its object all the same.
 */

export type ObjectInfo = {
  readonly name: string;
  readonly bytes: number;
  /** When it was stored, by the clock of the store. */
  readonly modifiedMs: number;
};

export type ByteRange = {readonly at: number; readonly length: number};

export interface ObjectStore {
  /** For messages: the URL, which has no credentials. */
  readonly url: string;
  /** Makes what has to be there before the first object: a directory. A bucket has to exist. */
  prepare(): Promise<void>;
  /** @param options.ifAbsent fails with `exists` if the store can tell. Not every store can */
  put(name: string, bytes: Buffer, options?: {ifAbsent?: boolean}): Promise<void>;
  /** An object of any size, with bounded memory. @param parts in order; if they throw, nothing is stored */
  putStream(name: string, parts: AsyncIterable<Buffer>): Promise<void>;
  /** Null: there is no such object. Fewer bytes than the range has: the object ends there. */
  get(name: string, range?: ByteRange): Promise<Buffer | null>;
  /** Like `get`, in parts and of any size. */
  stream(name: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null>;
  /** In the order of names. @param prefix ends with `/`, or is empty. @param after only names behind this one */
  list(prefix: string, options: {after?: string; most: number}): Promise<ObjectInfo[]>;
  /** Names that are not there are ignored. */
  remove(names: readonly string[]): Promise<void>;
  /** Removes what writers that ended have left of objects that are not complete, if the store has any. */
  removeLeftovers?(beforeMs: number): Promise<void>;
  close(): void;
}

const NAME = /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/;

/** Whether the name cannot lead out of the store. */
export function isObjectName(name: string): boolean {
  return NAME.test(name) && !name.split('/').some(part => part === '.' || part === '..');
}

/** All objects with the prefix. */
export async function* listed(
  store: ObjectStore,
  prefix: string,
  pageMax: number,
): AsyncGenerator<ObjectInfo, void, undefined> {
  for (let after: string | undefined; ; ) {
    const page = await store.list(prefix, {most: pageMax, ...(after === undefined ? {} : {after})});
    yield* page;
    if (page.length < pageMax) return;
    after = page.at(-1)!.name;
  }
}
