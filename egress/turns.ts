/** So many at once; the others wait for their turn, first come first served. Who may ask how often is bounded elsewhere. */
export class Turns {
  readonly #atOnce: number;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.#atOnce) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#underWay++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }
}
