/** A store that fails: requests end with an error before or after they did something, and objects are not stored as they were sent. */
import type {ByteRange, ObjectInfo, ObjectStore} from '../../../copies/store/object-store.ts';
import {listed} from '../../../copies/store/object-store.ts';
import {StoreError} from '../../../copies/store/store-error.ts';

export class FaultyObjects implements ObjectStore {
  readonly url: string;
  readonly #store: ObjectStore;
  readonly #random: () => number;
  /** Of requests that fail. */
  share = 0;

  constructor(store: ObjectStore, random: () => number) {
    this.#store = store;
    this.#random = random;
    this.url = store.url;
  }

  prepare(): Promise<void> {
    return this.#store.prepare();
  }

  async put(name: string, bytes: Buffer, options?: {ifAbsent?: boolean}): Promise<void> {
    if (!this.#fails()) return this.#store.put(name, bytes, options);
    switch (Math.floor(this.#random() * 5)) {
      case 0:
        throw unavailable();
      case 1:
        await this.#store.put(name, bytes, options);
        throw unavailable();
      case 2:
        return; // forgotten
      case 3:
        return this.#store.put(name, bytes.subarray(0, Math.floor(this.#random() * bytes.length)), options);
      default:
        return this.#store.put(name, flipped(bytes, this.#random), options);
    }
  }

  async putStream(name: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const part of parts) chunks.push(part);
    await this.put(name, Buffer.concat(chunks));
  }

  async get(name: string, range?: ByteRange): Promise<Buffer | null> {
    this.#mayFail();
    return this.#store.get(name, range);
  }

  async stream(name: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null> {
    this.#mayFail();
    return this.#store.stream(name, range);
  }

  async list(prefix: string, options: {after?: string; most: number}): Promise<ObjectInfo[]> {
    this.#mayFail();
    return this.#store.list(prefix, options);
  }

  async remove(names: readonly string[]): Promise<void> {
    this.#mayFail();
    return this.#store.remove(names);
  }

  close(): void {
    this.#store.close();
  }

  /** Makes a stored object short, other or absent. @returns its name */
  async spoilOne(which: RegExp): Promise<string> {
    const names: string[] = [];
    for await (const {name} of listed(this.#store, '', 1_000)) if (which.test(name)) names.push(name);
    const name = names[Math.floor(this.#random() * names.length)]!;
    const bytes = (await this.#store.get(name))!;
    await this.#store.remove([name]);
    const kind = Math.floor(this.#random() * 3);
    if (kind === 0) await this.#store.put(name, bytes.subarray(0, Math.floor(this.#random() * bytes.length)));
    if (kind === 1) await this.#store.put(name, flipped(bytes, this.#random));
    return name;
  }

  #fails(): boolean {
    return this.#random() < this.share;
  }

  #mayFail(): void {
    if (this.#fails() && this.#random() < 0.5) throw unavailable();
  }
}

function flipped(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[Math.floor(random() * copy.length)]! ^= 1 << Math.floor(random() * 8);
  return copy;
}

function unavailable(): StoreError {
  return new StoreError('unavailable', 'the store is not there');
}
