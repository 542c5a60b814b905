/**
 * A ring of records in one file: when it is full, the oldest records are overwritten. Charts can do without it, so it
 * is never synced, a damaged record is skipped, and a file that cannot be used is replaced by a new one.
 *
 * In memory, each record has the sequence of the one before it that has the same key, so the records of a key are found
 * without reading the others. A sequence that is too old names a record that was overwritten, as all before it were.
 */
import {Buffer} from 'node:buffer';
import {type FileHandle, open} from 'node:fs/promises';
import {assert} from '../../shared/assert.ts';
import {decodeRecord, encodeRecord, type FigureRecord, RECORD_BYTES} from './figure-record.ts';

/** The format and the size of the ring. */
const HEADER_BYTES = 64;
const READ_RECORDS = 4_096;
/** Records that are read between two turns of the event loop. */
const RECORDS_AT_ONCE = 512;
const NONE = -1;

export class FiguresFile {
  readonly #handle: FileHandle;
  readonly #capacity: number;
  /** By slot: the sequence of the record before with the same key. */
  readonly #previous: Float64Array;
  /** The newest sequence by generation and name. */
  readonly #newest = new Map<number, Map<string, number>>();
  #next = 0;

  private constructor(handle: FileHandle, capacity: number) {
    this.#handle = handle;
    this.#capacity = capacity;
    this.#previous = new Float64Array(capacity).fill(NONE);
  }

  /** @param capacity in records. @throws errors of the file system */
  static async open(path: string, capacity: number): Promise<FiguresFile> {
    const header = Buffer.alloc(HEADER_BYTES);
    header.write(`svc figures 1, ${RECORD_BYTES} bytes, ${capacity} records\n`);
    const handle = await open(path, 'a+', 0o600).then(async made => {
      await made.close();
      return open(path, 'r+');
    });
    const file = new FiguresFile(handle, capacity);
    const {buffer} = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    if (buffer.equals(header)) await file.#load();
    else {
      await handle.truncate(0);
      await handle.write(header, 0, HEADER_BYTES, 0);
    }
    return file;
  }

  /** Names of a tenant's functions that have records, with an empty one if the tenant has some itself. */
  names(generation: number): string[] {
    return [...(this.#newest.get(generation)?.keys() ?? [])];
  }

  /** All at once, in this order. */
  async append(records: readonly FigureRecord[]): Promise<void> {
    const written = records.slice(-this.#capacity);
    const bytes = Buffer.alloc(written.length * RECORD_BYTES);
    const first = this.#next;
    for (const [i, record] of written.entries()) {
      encodeRecord(bytes.subarray(i * RECORD_BYTES, (i + 1) * RECORD_BYTES), first + i, record);
    }
    const toEnd = Math.min(written.length, this.#capacity - (first % this.#capacity));
    await this.#write(bytes.subarray(0, toEnd * RECORD_BYTES), first);
    await this.#write(bytes.subarray(toEnd * RECORD_BYTES), first + toEnd);
    for (const {generation, name} of written) this.#note(this.#next, generation, name);
  }

  /** Its records of these minutes, newest first. */
  async *records(generation: number, name: string, from: number, to: number): AsyncGenerator<FigureRecord> {
    let sequence = this.#newest.get(generation)?.get(name) ?? NONE;
    for (let read = 1; this.#isThere(sequence); read++) {
      const previous = this.#previous[sequence % this.#capacity]!;
      const bytes = Buffer.allocUnsafe(RECORD_BYTES);
      await this.#handle.read(bytes, 0, RECORD_BYTES, this.#at(sequence));
      const record = decodeRecord(bytes);
      if (record?.sequence === sequence && record.generation === generation && record.name === name) {
        if (record.minute < from) return;
        if (record.minute <= to) yield record;
      }
      sequence = previous;
      if (read % RECORDS_AT_ONCE === 0) await new Promise(resolve => setImmediate(resolve));
    }
  }

  /** Forgets keys without records. */
  prune(): void {
    for (const [generation, names] of this.#newest) {
      for (const [name, sequence] of names) if (!this.#isThere(sequence)) names.delete(name);
      if (names.size === 0) this.#newest.delete(generation);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #load(): Promise<void> {
    const found: {sequence: number; generation: number; name: string}[] = [];
    const bytes = Buffer.alloc(READ_RECORDS * RECORD_BYTES);
    for (let slot = 0; slot < this.#capacity; slot += READ_RECORDS) {
      const {bytesRead} = await this.#handle.read(bytes, 0, bytes.length, HEADER_BYTES + slot * RECORD_BYTES);
      const records = Math.min(Math.floor(bytesRead / RECORD_BYTES), this.#capacity - slot);
      for (let i = 0; i < records; i++) {
        const record = decodeRecord(bytes.subarray(i * RECORD_BYTES, (i + 1) * RECORD_BYTES));
        if (record === null || record.sequence % this.#capacity !== slot + i) continue;
        found.push({sequence: record.sequence, generation: record.generation, name: record.name});
      }
      if (bytesRead < bytes.length) break;
    }
    found.sort((a, b) => a.sequence - b.sequence);
    const newest = found.at(-1)?.sequence ?? NONE;
    for (const {sequence, generation, name} of found) {
      if (sequence > newest - this.#capacity) this.#note(sequence, generation, name);
    }
  }

  #note(sequence: number, generation: number, name: string): void {
    assert(sequence >= this.#next, 'sequences rise');
    let names = this.#newest.get(generation);
    if (names === undefined) {
      names = new Map();
      this.#newest.set(generation, names);
    }
    this.#previous[sequence % this.#capacity] = names.get(name) ?? NONE;
    names.set(name, sequence);
    this.#next = sequence + 1;
  }

  #isThere(sequence: number): boolean {
    return sequence !== NONE && sequence >= this.#next - this.#capacity;
  }

  #at(sequence: number): number {
    return HEADER_BYTES + (sequence % this.#capacity) * RECORD_BYTES;
  }

  async #write(bytes: Buffer, sequence: number): Promise<void> {
    if (bytes.length > 0) await this.#handle.write(bytes, 0, bytes.length, this.#at(sequence));
  }
}
