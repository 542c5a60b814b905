/**
 * Tells whether a group has company: whether the tenant had more to do since the group before than its writes. A client
 * that waits for the answer to its only write is alone. One that reads, follows commits or calls functions is company,
 * and so is work that no request waits for.
 */
import type {Stage} from './commit.ts';

export class Company {
  readonly #stages: readonly Stage[];
  readonly #requests: () => number;
  #requestsBefore = 0;

  /** @param requests number of requests that have arrived */
  constructor(stages: readonly Stage[], requests: () => number) {
    this.#stages = stages;
    this.#requests = requests;
  }

  /** Call it once for each group. @param writes of the group */
  isAbsent(writes: number): boolean {
    const requests = this.#requests();
    const arrived = requests - this.#requestsBefore;
    this.#requestsBefore = requests;
    return (
      arrived === writes && this.#stages.every(({dependents}) => dependents === undefined || dependents.size === 0)
    );
  }
}
