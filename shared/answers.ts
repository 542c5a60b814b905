/**
 * Questions put to a child process over its channel, matched with their answers. What is not answered in time, or by a process
 * that has ended, is null: a child may be stuck or gone at any moment, and whoever asks goes on without it.
 */

export class Answers<Value> {
  readonly #waiting = new Map<number, (value: Value | null) => void>();
  #id = 0;

  /** @param timeoutMs null: as long as the child lives */
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

  /** An answer that comes too late is nobody's. */
  settle(id: number, value: Value | null): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(value);
  }

  /** The child is gone: nothing is answered any more. */
  end(): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, null);
  }
}
