/**
 * What a router owes its function sockets, all together: messages that their networks have not taken. A socket's own bound is its backpressure
 * limit; many sockets that read nothing would still take the memory that all tenants share.
 *
 * Beyond the limit whoever is sent more, and owes more than an equal share of it, is dropped. Those who owe less stay, whatever others do; they
 * add one limit at most.
 */
import {assert} from '../../shared/assert.ts';

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

  /** @param bytes that it still owed */
  closed(bytes: number): void {
    this.#sockets--;
    this.changed(-bytes);
  }

  /** A socket owes so much more than before. */
  changed(bytes: number): void {
    this.#owed += bytes;
    assert(this.#owed >= 0 && this.#sockets >= 0, 'what sockets owe is counted once');
  }

  /** Whether a socket that owes so much takes more than there is for it. */
  isTooMuch(bytes: number): boolean {
    return this.#owed > this.#max && bytes > this.#max / this.#sockets;
  }
}
