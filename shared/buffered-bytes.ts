/**
 * The total size of the buffers of all sockets: bytes that their networks have not accepted, or messages that are not
 * handled yet. Each socket has its own limit, but many sockets at theirs would still exhaust the memory that all share.
 *
 * Beyond the limit, a socket whose backlog grows and is larger than an equal share is closed. Sockets with smaller
 * backlogs stay, whatever the others do; together they add at most one limit.
 */
import {assert} from './assert.ts';

export class BufferedBytes {
  readonly #max: number;
  #buffered = 0;
  #sockets = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get buffered(): number {
    return this.#buffered;
  }

  opened(): void {
    this.#sockets++;
  }

  /** @param bytes that were still buffered for it */
  closed(bytes: number): void {
    this.#sockets--;
    this.changed(-bytes);
  }

  /** A socket's backlog grew by this much; negative: it shrank. */
  changed(bytes: number): void {
    this.#buffered += bytes;
    assert(this.#buffered >= 0 && this.#sockets >= 0, 'what sockets owe is counted once');
  }

  /** Whether a socket with this backlog exceeds its share. */
  isTooMuch(bytes: number): boolean {
    return this.#buffered > this.#max && bytes > this.#max / this.#sockets;
  }
}
