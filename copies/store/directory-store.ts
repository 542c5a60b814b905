/**
 * A store in a directory: each object is a file. It is written under a temporary name, synced and renamed, so it is
 * complete or absent after a power cut too. The directory itself has to exist: one that is on a disk that is not mounted
 * must not be made again in its mount point.
 */
import {randomBytes} from 'node:crypto';
import type {Dirent} from 'node:fs';
import {type FileHandle, link, mkdir, open, readdir, rename, rm, stat} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {pathToFileURL} from 'node:url';
import {assert} from '../../shared/assert.ts';
import {isNoSpace, isReadOnly} from '../../shared/disk-errors.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {OBJECT_BYTES_MAX, STREAM_CHUNK_BYTES} from '../limits.ts';
import {type ByteRange, isObjectName, type ObjectInfo, type ObjectStore} from './object-store.ts';
import {StoreError} from './store-error.ts';

/** Names that begin with it are being written. */
const TEMPORARY = '.new-';

export class DirectoryStore implements ObjectStore {
  readonly url: string;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    this.url = pathToFileURL(root).href;
  }

  prepare(): Promise<void> {
    return this.#guarded(() => this.#makeParents(this.#root));
  }

  put(name: string, bytes: Buffer, options?: {ifAbsent?: boolean}): Promise<void> {
    return this.#write(name, file => file.writeFile(bytes), options?.ifAbsent === true);
  }

  putStream(name: string, parts: AsyncIterable<Buffer>): Promise<void> {
    return this.#write(name, file => file.writeFile(parts), false);
  }

  get(name: string, range?: ByteRange): Promise<Buffer | null> {
    return this.#guarded(async () => {
      const file = await openIfThere(this.#pathOf(name));
      if (file === null) return null;
      try {
        const {size} = await file.stat();
        const at = range?.at ?? 0;
        const length = Math.max(0, Math.min(range?.length ?? size, size - at));
        if (length > OBJECT_BYTES_MAX)
          throw new StoreError('unavailable', `${name} has ${length} bytes to read at once`);
        return await bytesOf(file, at, length);
      } finally {
        await file.close();
      }
    });
  }

  stream(name: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null> {
    return this.#guarded(async () => {
      const file = await openIfThere(this.#pathOf(name));
      return file === null ? null : this.#partsOf(file, range);
    });
  }

  list(prefix: string, {after, most}: {after?: string; most: number}): Promise<ObjectInfo[]> {
    return this.#guarded(async () => {
      await this.#checkRoot();
      const found: ObjectInfo[] = [];
      await this.#collect(join(this.#root, prefix), after ?? '', most, found);
      return found;
    });
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#guarded(async () => {
      for (const name of names) await rm(this.#pathOf(name), {force: true});
    });
  }

  removeLeftovers(beforeMs: number): Promise<void> {
    return this.#guarded(async () => {
      const entries = await readdir(this.#root, {recursive: true, withFileTypes: true});
      for (const entry of entries.filter(({name}) => name.startsWith(TEMPORARY))) {
        const path = join(entry.parentPath, entry.name);
        const info = await stat(path).catch(ifMissing(null));
        if (info !== null && info.mtimeMs < beforeMs) await rm(path, {force: true});
      }
    });
  }

  close(): void {}

  async #write(name: string, fill: (file: FileHandle) => Promise<void>, ifAbsent: boolean): Promise<void> {
    const path = this.#pathOf(name);
    const temporary = join(dirname(path), `${TEMPORARY}${randomBytes(8).toString('hex')}`);
    await this.#guarded(async () => {
      await this.#checkRoot();
      await this.#makeParents(dirname(path));
      try {
        const file = await open(temporary, 'wx', 0o600);
        try {
          await fill(file);
          await file.sync();
        } finally {
          await file.close();
        }
        await (ifAbsent ? link(temporary, path) : rename(temporary, path));
      } finally {
        await rm(temporary, {force: true});
      }
      await syncDirectory(dirname(path));
    });
  }

  async #makeParents(path: string): Promise<void> {
    const made = await mkdir(path, {recursive: true, mode: 0o700});
    if (made === undefined) return;
    for (let at = path; at !== dirname(made); at = dirname(at)) await syncDirectory(dirname(at));
  }

  async #checkRoot(): Promise<void> {
    if (!(await stat(this.#root)).isDirectory())
      throw new StoreError('unavailable', `${this.#root} is not a directory`);
  }

  /** Adds the files below a directory in the order of their names. @returns false: there are enough */
  async #collect(directory: string, after: string, most: number, found: ObjectInfo[]): Promise<boolean> {
    const entries = (await entriesIn(directory)).filter(({name}) => !name.startsWith(TEMPORARY));
    // A directory sorts as its name with the separator, as in a bucket.
    const keyed = entries.map(entry => ({entry, key: entry.isDirectory() ? `${entry.name}/` : entry.name}));
    keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const {entry, key} of keyed) {
      if (found.length >= most) return false;
      const path = join(directory, entry.name);
      const name = relative(this.#root, path);
      if (key.endsWith('/')) {
        const isBehind = `${name}/` > after || after.startsWith(`${name}/`);
        if (isBehind && !(await this.#collect(path, after, most, found))) return false;
      } else if (name > after && entry.isFile()) {
        const info = await stat(path).catch(ifMissing(null));
        if (info !== null) found.push({name, bytes: info.size, modifiedMs: Math.floor(info.mtimeMs)});
      }
    }
    return true;
  }

  async *#partsOf(file: FileHandle, range: ByteRange | undefined): AsyncGenerator<Buffer, void, undefined> {
    try {
      let at = range?.at ?? 0;
      const end = range === undefined ? Number.MAX_SAFE_INTEGER : at + range.length;
      while (at < end) {
        const part = await this.#guarded(() => bytesOf(file, at, Math.min(STREAM_CHUNK_BYTES, end - at)));
        if (part.length === 0) return;
        at += part.length;
        yield part;
      }
    } finally {
      await file.close();
    }
  }

  #pathOf(name: string): string {
    assert(isObjectName(name), `${name} is the name of an object`);
    return join(this.#root, name);
  }

  async #guarded<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (caught) {
      throw storeErrorOf(caught, this.#root);
    }
  }
}

/** An error of the file system as what it means for the store. Any other is a bug, or the error of a stream's source. */
function storeErrorOf(caught: unknown, root: string): unknown {
  const {code, message} = caught as NodeJS.ErrnoException;
  if (caught instanceof StoreError || typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code)) return caught;
  const options = {cause: caught};
  if (code === 'EEXIST') return new StoreError('exists', message, options);
  if (isNoSpace(caught)) return new StoreError('no_space', `${root} is full: ${message}`, options);
  if (['EACCES', 'EPERM'].includes(code) || isReadOnly(caught)) return new StoreError('refused', message, options);
  return new StoreError('unavailable', message, options);
}

function ifMissing<T>(instead: T): (caught: unknown) => T {
  return caught => {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return instead;
    throw caught;
  };
}

function openIfThere(path: string): Promise<FileHandle | null> {
  return open(path, 'r').catch(ifMissing(null));
}

function entriesIn(directory: string): Promise<Dirent[]> {
  return readdir(directory, {withFileTypes: true}).catch(ifMissing([]));
}

/** Fewer at the end of the file. */
async function bytesOf(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  for (let read = -1; read !== 0 && done < length; done += read) {
    read = (await file.read(bytes, done, length - done, at + done)).bytesRead;
  }
  return bytes.subarray(0, done);
}
