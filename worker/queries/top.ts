/**
 * The first k positions of those offered, in an order given by key, then document number. A binary heap whose root is the
 * last one kept, so memory is bounded by k, not by what is offered.
 */
import {Buffer} from 'node:buffer';
import type {Position} from './cursor.ts';

export class FirstInOrder {
  readonly #most: number;
  readonly #sign: number;
  readonly #after: Position | null;
  readonly #heap: Position[] = [];

  /** @param most k, or Infinity to keep all, @param after only positions strictly beyond this one are kept */
  constructor(most: number, reverse: boolean, after: Position | null) {
    this.#most = most;
    this.#sign = reverse ? -1 : 1;
    this.#after = after;
  }

  /** True when the position is among the first k so far. */
  offer(position: Position): boolean {
    if (this.#after !== null && this.#compare(position, this.#after) <= 0) return false;
    if (this.#heap.length < this.#most) {
      this.#heap.push(position);
      if (Number.isFinite(this.#most)) this.#rise(this.#heap.length - 1);
      return true;
    }
    if (this.#compare(position, this.#heap[0]!) >= 0) return false;
    this.#heap[0] = position;
    this.#sink();
    return true;
  }

  inOrder(): Position[] {
    return this.#heap.sort((a, b) => this.#compare(a, b));
  }

  #compare(a: Position, b: Position): number {
    return this.#sign * (Buffer.compare(a.key, b.key) || a.doc - b.doc);
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(this.#heap[at]!, this.#heap[parent]!) <= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      let largest = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#compare(this.#heap[child]!, this.#heap[largest]!) > 0) largest = child;
      }
      if (largest === at) return;
      this.#swap(at, largest);
      at = largest;
    }
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b]!, this.#heap[a]!];
  }
}
