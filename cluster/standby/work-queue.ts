/** Work on tenants, each at most once at a time: those that were added first are first, and a few are under way. */
import {assert} from '../../shared/assert.ts';

export class WorkQueue {
  readonly #atOnce: number;
  readonly #work: (id: string) => Promise<void>;
  readonly #waiting = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  #isClosed = false;

  /** @param work never rejects */
  constructor(atOnce: number, work: (id: string) => Promise<void>) {
    assert(atOnce > 0, 'work is done');
    [this.#atOnce, this.#work] = [atOnce, work];
  }

  /** If it is waiting already, it keeps its place. If it is under way, it is done again afterwards. */
  add(id: string): void {
    if (this.#isClosed) return;
    this.#waiting.add(id);
    this.#begin();
  }

  /** Nothing is under way when it resolves. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    await Promise.all(this.#underWay.values());
  }

  #begin(): void {
    for (const id of this.#waiting) {
      if (this.#underWay.size >= this.#atOnce) return;
      if (this.#underWay.has(id)) continue;
      this.#waiting.delete(id);
      const done = this.#work(id).finally(() => {
        this.#underWay.delete(id);
        this.#begin();
      });
      this.#underWay.set(id, done);
    }
  }
}
