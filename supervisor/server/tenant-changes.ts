/**
 * Changes of tenants that the cluster has made, carried out on this host one after another, in their order. One that failed
 * is tried again, unless the cluster has changed that tenant since: then it would bring back what is over.
 */
import type {Logger} from '../../shared/log.ts';

export type TenantChangesParts = {
  /** Pause after a failure. */
  retryMs: number;
  log: Logger;
};

export class TenantChanges {
  readonly #parts: TenantChangesParts;
  #last: Promise<void> = Promise.resolve();
  /** The newest change of each tenant that has not succeeded yet. */
  readonly #newest = new Map<string, symbol>();

  constructor(parts: TenantChangesParts) {
    this.#parts = parts;
  }

  /** Resolves when each change up to now was tried. */
  get tried(): Promise<void> {
    return this.#last;
  }

  /** Behind the changes before it, and before those after it. @throws what it throws */
  alone(change: () => Promise<void>): Promise<void> {
    const made = this.#last.then(change);
    this.#last = made.catch(() => undefined);
    return made;
  }

  /** One that follows again if it fails. @throws what it throws */
  make(change: () => Promise<void>): Promise<void> {
    return this.alone(change).catch((error: unknown) => {
      this.#parts.log.error('a change of a tenant of the cluster could not be made on this host; it is tried again', {
        error,
      });
      throw error;
    });
  }

  /** Until it succeeds, or another change of the tenant follows: a full disk has space again. */
  repeat(tenant: string, change: () => Promise<void>): void {
    const own = Symbol(tenant);
    this.#newest.set(tenant, own);
    const attempt = (): void => {
      if (this.#newest.get(tenant) !== own) return;
      this.make(change).then(
        () => {
          if (this.#newest.get(tenant) === own) this.#newest.delete(tenant);
        },
        () => setTimeout(attempt, this.#parts.retryMs).unref(),
      );
    };
    attempt();
  }
}
