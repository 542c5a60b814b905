/** A store in memory, whose writer can be ended at any of its requests. */
import type {ByteRange, ObjectInfo, ObjectStore} from '../../../copies/store/object-store.ts';
import {StoreError} from '../../../copies/store/store-error.ts';

type Stored = {bytes: Buffer; modifiedMs: number};

export class MemoryObjects implements ObjectStore {
  readonly url = 'memory:';
  readonly #objects: Map<string, Stored>;
  /** Requests until the process ends. */
  #left: number;
  /** Whether the last request still reaches the store. */
  readonly #lastArrives: boolean;
  requests = 0;

  constructor(objects = new Map<string, Stored>(), left = Number.POSITIVE_INFINITY, lastArrives = false) {
    this.#objects = objects;
    this.#left = left;
    this.#lastArrives = lastArrives;
  }

  /** What is in it now, for another process. */
  get objects(): Map<string, Stored> {
    return new Map(this.#objects);
  }

  async prepare(): Promise<void> {}

  put(name: string, bytes: Buffer, options?: {ifAbsent?: boolean}): Promise<void> {
    return this.#request(() => {
      if (options?.ifAbsent === true && this.#objects.has(name)) throw new StoreError('exists', name);
      this.#objects.set(name, {bytes: Buffer.from(bytes), modifiedMs: Date.now()});
    });
  }

  async putStream(name: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const part of parts) chunks.push(part);
    await this.put(name, Buffer.concat(chunks));
  }

  get(name: string, {at, length}: ByteRange = {at: 0, length: Number.MAX_SAFE_INTEGER}): Promise<Buffer | null> {
    return this.#request(() => this.#objects.get(name)?.bytes.subarray(at, at + length) ?? null);
  }

  async stream(name: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null> {
    const bytes = await this.get(name, range);
    return bytes === null
      ? null
      : (async function* () {
          yield bytes;
        })();
  }

  list(prefix: string, {after = '', most}: {after?: string; most: number}): Promise<ObjectInfo[]> {
    return this.#request(() =>
      [...this.#objects]
        .filter(([name]) => name.startsWith(prefix) && name > after)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, most)
        .map(([name, {bytes, modifiedMs}]) => ({name, bytes: bytes.length, modifiedMs})),
    );
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#request(() => {
      for (const name of names) this.#objects.delete(name);
    });
  }

  close(): void {}

  async #request<T>(act: () => T): Promise<T> {
    this.requests++;
    if (--this.#left >= 0) return act();
    if (this.#left === -1 && this.#lastArrives) act();
    // A code that nothing tries again.
    throw new StoreError('refused', 'the process has ended');
  }
}
