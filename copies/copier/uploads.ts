/**
 * Files that are too large for a pack: streamed one at a time, while the rounds go on. Tenants take turns, and one whose
 * file was refused or could not be stored waits longer each time.
 */
import {backOffMs} from '../../shared/back-off.ts';
import {FAILURE_PAUSE_MS_MIN, UPLOAD_PAUSE_MS_MAX} from './limits.ts';

export class Uploads {
  readonly #now: () => number;
  /** How many have ended. */
  endedCount = 0;
  #current: {tenant: string; done: Promise<void>} | null = null;
  /** The tenant of the last one. */
  #last = '';
  readonly #pauses = new Map<string, {failures: number; untilMs: number}>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whose file is being stored. Null: none is. */
  get tenant(): string | null {
    return this.#current?.tenant ?? null;
  }

  /** Resolves when none is being stored. */
  async ended(): Promise<void> {
    await this.#current?.done;
  }

  /** Whose turn it is. @param tenants that have a large file, in order. @returns null: one is being stored, or all wait */
  next(tenants: readonly string[]): string | null {
    if (this.#current !== null) return null;
    const ready = tenants.filter(tenant => (this.#pauses.get(tenant)?.untilMs ?? 0) <= this.#now());
    return inTurn(ready, this.#last, tenant => tenant)[0] ?? null;
  }

  /** @param ended called after `failed`, or after a success. What `failed` throws ends the process */
  begin(
    tenant: string,
    upload: () => Promise<void>,
    {failed, ended}: {failed: (caught: unknown) => void; ended: () => void},
  ): void {
    const done = upload()
      .then(
        () => {
          this.#pauses.delete(tenant);
        },
        (caught: unknown) => {
          const failures = this.#pauses.get(tenant)?.failures ?? 0;
          const pauseMs = backOffMs(FAILURE_PAUSE_MS_MIN, UPLOAD_PAUSE_MS_MAX, failures);
          this.#pauses.set(tenant, {failures: failures + 1, untilMs: this.#now() + pauseMs});
          failed(caught);
        },
      )
      .finally(() => {
        this.#current = null;
        this.endedCount++;
        ended();
      });
    [this.#last, this.#current] = [tenant, {tenant, done}];
  }

  /** Those that failed are tried again at once. */
  retry(): void {
    for (const pause of this.#pauses.values()) pause.untilMs = 0;
  }

  deleted(tenant: string): void {
    this.#pauses.delete(tenant);
  }
}

/** The list from behind this name on, and then those before. @param sorted by name */
export function inTurn<Item>(sorted: readonly Item[], after: string, nameOf: (item: Item) => string): Item[] {
  const from = Math.max(
    0,
    sorted.findIndex(item => nameOf(item) > after),
  );
  return [...sorted.slice(from), ...sorted.slice(0, from)];
}
