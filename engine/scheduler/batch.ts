/** Due work that was submitted together. */
export class Batch {
  /** Resolves when all of it has run in a group, which may not be durable yet, or has settled. */
  readonly ran: Promise<void>;
  /** Resolves when all of it is durable, or was refused. */
  readonly settled: Promise<void>;
  #toRun: number;
  #toSettle: number;
  readonly #allRan: () => void;
  readonly #allSettled: () => void;

  constructor(works: number) {
    this.#toRun = works;
    this.#toSettle = works;
    ({promise: this.ran, resolve: this.#allRan} = Promise.withResolvers<void>());
    ({promise: this.settled, resolve: this.#allSettled} = Promise.withResolvers<void>());
    if (works > 0) return;
    this.#allRan();
    this.#allSettled();
  }

  ranOne(): void {
    if (--this.#toRun === 0) this.#allRan();
  }

  settledOne(): void {
    if (--this.#toSettle === 0) this.#allSettled();
  }
}

/** One work of a batch. It can run several times, and settle several times: when it is refused, and when a retry succeeds. */
export class BatchedWork {
  readonly #batch: Batch;
  #hasRun = false;
  #hasSettled = false;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  ran(): void {
    if (this.#hasRun) return;
    this.#hasRun = true;
    this.#batch.ranOne();
  }

  settled(): void {
    this.ran();
    if (this.#hasSettled) return;
    this.#hasSettled = true;
    this.#batch.settledOne();
  }
}
