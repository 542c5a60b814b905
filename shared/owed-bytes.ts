/**
 * What is kept of sockets, all together: for those whose networks do not take it, or of those whose messages are not handled. Each has a bound of
 * its own; many at theirs would still take the memory that all share.
 *
 * Beyond the limit whoever is owed more than before, and more than an equal share of it, has to go. Those who are owed less stay, whatever others
 * do; they add one limit at most.
 */
import {assert} from './assert.ts';

export class OwedBytes {
  readonly #max: number;
  #owed = 0;
  #sockets = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get owed(): number {
    return this.#owed;
  }

  opened(): void {
    this.#sockets++;
  }

  /** @param bytes that it was still owed */
  closed(bytes: number): void {
    this.#sockets--;
    this.changed(-bytes);
  }

  /** A socket is owed so much more than before. */
  changed(bytes: number): void {
    this.#owed += bytes;
    assert(this.#owed >= 0 && this.#sockets >= 0, 'what sockets owe is counted once');
  }

  /** Whether a socket that is owed so much takes more than there is for it. */
  isTooMuch(bytes: number): boolean {
    return this.#owed > this.#max && bytes > this.#max / this.#sockets;
  }
}
