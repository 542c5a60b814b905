/**
 * Matches requests to a child process with its replies. A request that gets no reply in time, or whose process has
 * ended, resolves to null: a child can hang or exit at any moment, and the caller continues without it.
 */

export class Answers<Value> {
  readonly #waiting = new Map<number, (value: Value | null) => void>();
  #id = 0;

  /** @param timeoutMs null: wait as long as the child lives */
  ask(timeoutMs: number | null, send: (id: number) => void): Promise<Value | null> {
    return new Promise(resolve => {
      const id = ++this.#id;
      const timer = timeoutMs === null ? null : setTimeout(() => this.settle(id, null), timeoutMs);
      this.#waiting.set(id, value => {
        if (timer !== null) clearTimeout(timer);
        resolve(value);
      });
      send(id);
    });
  }

  /** Ignores a reply that arrives too late. */
  settle(id: number, value: Value | null): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(value);
  }

  /** The child has exited: all pending and later requests resolve to null. */
  end(): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, null);
  }
}
