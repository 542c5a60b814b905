/** Where the bytes of page sets come from and go to: memory or a file. */
import {fstatSync, readSync, writeSync} from 'node:fs';

/** Bytes that can be read in any order, and do not change meanwhile. */
export interface Source {
  readonly length: number;
  /** Fewer bytes at the end. */
  read(at: number, length: number): Buffer;
}

/** Takes bytes in order. */
export interface Sink {
  write(bytes: Buffer): void;
}

export function sourceOf(bytes: Buffer): Source {
  return {length: bytes.length, read: (at, length) => bytes.subarray(at, at + length)};
}

/** @param fd stays open while the source is used */
export function sourceOfFile(fd: number): Source {
  return {length: fstatSync(fd).size, read: (at, length) => readAt(fd, at, length)};
}

/** Fewer bytes at the end of the file. @param into has space for all of them */
export function readAt(fd: number, at: number, length: number, into: Buffer = Buffer.allocUnsafe(length)): Buffer {
  const bytes = into.subarray(0, length);
  let done = 0;
  for (let read = -1; read !== 0 && done < length; done += read) {
    read = readSync(fd, bytes, done, length - done, at + done);
  }
  return bytes.subarray(0, done);
}

/** @param at offset in the file; null: where the last write ended */
export function writeAll(fd: number, bytes: Buffer, at: number | null): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done, at === null ? null : at + done);
  }
}

/** Keeps what it takes. */
export class MemorySink implements Sink {
  readonly #parts: Buffer[] = [];

  write(bytes: Buffer): void {
    this.#parts.push(Buffer.from(bytes));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
