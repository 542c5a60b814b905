/**
 * Accounts of the memory that bytes under way take. There are two kinds: bytes that arrive are reserved, and bytes that
 * leave are measured while they are buffered. A caller checks for room first, unless the
 * bytes are in memory already.
 *
 * Reserved bytes: bodies that arrive, wait or may have to be sent again, and data that a worker's socket has not taken.
 * A quarter of the total is kept for small needs: every tenant can reserve its share, regardless of the others. Of the
 * rest a tenant can reserve its maximum, but at most as much as is still free, so that a few tenants cannot take all.
 *
 * Buffered bytes: those that the networks of readers have not accepted, or messages that are not handled yet. Each
 * reader has its own limit, but many readers at theirs would still exhaust the memory that all share. Beyond the total,
 * a reader whose backlog grows and is larger than an equal share is closed. Readers with smaller backlogs stay, whatever
 * the others do; together they add at most one total.
 */
import {assert} from './assert.ts';
import {overloaded, type ServiceError} from './errors.ts';

/** The part of the total that all tenants compete for; the rest is kept for small needs. */
const COMPETED_PART = 0.75;

/** Reserved by all tenants together; one object for all of them. */
export type ReservedTotal = {
  reserved: number;
  readonly max: number;
  readonly tenantMax: number;
  readonly tenantShare: number;
};

export function tooManyBytes(): ServiceError {
  return overloaded('requests under way are too long together; try again later');
}

/** What one tenant has reserved. */
export class ReservedBytes {
  readonly #total: ReservedTotal;
  #reserved = 0;

  constructor(total: ReservedTotal) {
    this.#total = total;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Must be called before `take` if the bytes can still be refused. */
  hasRoom(bytes: number): boolean {
    const {reserved, max, tenantMax, tenantShare} = this.#total;
    const reservedThen = this.#reserved + bytes;
    if (reservedThen <= tenantShare) return reserved + bytes <= max;
    return reservedThen <= Math.min(tenantMax, COMPETED_PART * max - reserved);
  }

  take(bytes: number): void {
    this.#reserved += bytes;
    this.#total.reserved += bytes;
  }

  give(bytes: number): void {
    this.take(-bytes);
    assert(this.#reserved >= 0 && this.#total.reserved >= 0, 'nothing is given back that was not taken');
  }
}

/** What is buffered for all readers that share a limit. */
export class BufferedBytes {
  readonly #max: number;
  #buffered = 0;
  #readers = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get buffered(): number {
    return this.#buffered;
  }

  /** Whether this much more stays within the limit. */
  hasRoom(bytes: number): boolean {
    return this.#buffered + bytes <= this.#max;
  }

  /** A reader begins, with nothing buffered. */
  open(): Backlog {
    this.#readers++;
    return new Backlog(this);
  }

  /** A backlog grew by this much; negative: it shrank. */
  changed(bytes: number): void {
    this.#buffered += bytes;
    assert(this.#buffered >= 0, 'what is buffered is counted once');
  }

  closed(): void {
    this.#readers--;
    assert(this.#readers >= 0, 'a reader ends once');
  }

  isTooMuch(bytes: number): boolean {
    return this.#buffered > this.#max && bytes > this.#max / this.#readers;
  }
}

/** What is buffered for one reader. */
export class Backlog {
  readonly #all: BufferedBytes;
  #bytes = 0;

  constructor(all: BufferedBytes) {
    this.#all = all;
  }

  /** As last measured. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param bytes buffered for the reader now */
  measured(bytes: number): void {
    if (bytes === this.#bytes) return;
    this.#all.changed(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Whether the reader exceeds its share. */
  get isTooMuch(): boolean {
    return this.#all.isTooMuch(this.#bytes);
  }

  /** The reader has ended; called once. */
  close(): void {
    this.measured(0);
    this.#all.closed();
  }
}
