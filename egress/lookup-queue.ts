/**
 * Name look-ups of all tenants, of which only a limited number run at once. The next one to run belongs to the waiting
 * tenant with the fewest under way, so tenants whose name servers do not answer do not delay others. An aborted look-up
 * leaves the queue.
 */
export type LookupLimits = {
  atOnce: number;
  atOncePerTenant: number;
  waitingPerTenant: number;
};

type Line = {underWay: number; waiting: Set<() => void>};

export class LookupQueue {
  readonly #limits: LookupLimits;
  /** Tenants that have look-ups, the least recently served first. */
  readonly #lines = new Map<string, Line>();
  #underWay = 0;

  constructor(limits: LookupLimits) {
    this.#limits = limits;
  }

  /** @throws QueueFull, the reason of `signal`, or what `work` threw */
  async run<T>(tenant: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(tenant, signal);
    try {
      return await work();
    } finally {
      this.#ended(tenant);
    }
  }

  /** Number of waiting look-ups. */
  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, {waiting}) => sum + waiting.size, 0);
  }

  async #turn(tenant: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const line = this.#lines.get(tenant) ?? {underWay: 0, waiting: new Set()};
    if (this.#underWay < this.#limits.atOnce && line.underWay < this.#limits.atOncePerTenant) {
      this.#begin(tenant, line);
      return;
    }
    if (line.waiting.size >= this.#limits.waitingPerTenant) throw new QueueFull(this.#limits.waitingPerTenant);
    this.#lines.set(tenant, line);
    await new Promise<void>((resolve, reject) => {
      const begun = () => {
        signal.removeEventListener('abort', givenUp);
        resolve();
      };
      const givenUp = () => {
        line.waiting.delete(begun);
        this.#forget(tenant, line);
        reject(signal.reason as Error);
      };
      line.waiting.add(begun);
      signal.addEventListener('abort', givenUp, {once: true});
    });
  }

  #begin(tenant: string, line: Line): void {
    this.#underWay++;
    line.underWay++;
    this.#lines.delete(tenant);
    this.#lines.set(tenant, line);
  }

  #ended(tenant: string): void {
    const line = this.#lines.get(tenant)!;
    this.#underWay--;
    line.underWay--;
    this.#forget(tenant, line);
    let next: [string, Line] | null = null;
    for (const [name, each] of this.#lines) {
      if (each.waiting.size === 0 || each.underWay >= this.#limits.atOncePerTenant) continue;
      if (next === null || each.underWay < next[1].underWay) next = [name, each];
    }
    if (next === null) return;
    const [begun] = next[1].waiting;
    next[1].waiting.delete(begun!);
    this.#begin(...next);
    begun!();
  }

  #forget(tenant: string, line: Line): void {
    if (line.underWay === 0 && line.waiting.size === 0) this.#lines.delete(tenant);
  }
}

export class QueueFull extends Error {
  readonly code = 'EMFILE';
  readonly syscall = 'getaddrinfo';

  constructor(waiting: number) {
    super(`Too many names are being looked up (maximum ${waiting} of one tenant wait)`);
  }
}
