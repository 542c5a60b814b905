/** A build whose processes take the clock's time from a file: so many milliseconds off. Their monotonic clock is not. */
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {ChangedBuild} from './changed-build.ts';

export class MovableClock {
  readonly #build: ChangedBuild;
  readonly #file: string;

  /** @param dist the build that is copied. Default: the one beside the tests */
  constructor(entries = ['worker.js', 'router.js'], dist?: string) {
    this.#build = new ChangedBuild(dist);
    this.#file = join(this.#build.dist, 'offset');
    this.set(0);
    const shim = `
      import {readFileSync} from 'node:fs';
      const Real = Date;
      const now = () => Real.now() + Number(readFileSync(${JSON.stringify(this.#file)}, 'utf8'));
      globalThis.Date = class extends Real {
        constructor(...given) { if (given.length === 0) super(now()); else super(...given); }
        static now() { return now(); }
      };`;
    for (const entry of entries) this.#build.runFirst(entry, shim);
  }

  get dist(): string {
    return this.#build.dist;
  }

  set(offsetMs: number): void {
    writeFileSync(this.#file, String(offsetMs));
  }

  remove(): void {
    this.#build.remove();
  }
}
