/**
 * Writes that no request waits for: index back-fills, due work, clean-up. One policy for all of them:
 *
 *   perform ──▶ group ──on disk──▶ resolved
 *                 ├─ disk full or read-only | queue full | blocked by damaged documents ──▶ parked: logged once,
 *                 │    retried every BACKGROUND_RETRY_MS
 *                 └─ anything else ──▶ a bug: ends the process
 *
 * So a full disk costs the tenant only its writes. Parked work continues by itself once there is space.
 */
import {type ErrorCode, ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import {BACKGROUND_RETRY_MS} from '../limits.ts';
import type {CommitGroups} from './group.ts';
import type {Write} from './write.ts';
import type {Writer} from './writer.ts';

export class BackgroundWrites {
  readonly #groups: CommitGroups;
  readonly #log: Logger;
  readonly #onFailure: (kind: string, error: unknown) => void;
  /** Number of parked writes of each kind. */
  readonly #parked = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;

  /** @param onFailure called for a bug; ends the process */
  constructor(groups: CommitGroups, log: Logger, onFailure: (kind: string, error: unknown) => void) {
    this.#groups = groups;
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /**
   * Resolves when the change is on disk, and never rejects. The change can run several times: each attempt is rolled
   * back before the next. After `stop` there are no retries, and a change that is not on disk never settles.
   * @param kind description for the log: "an index build"
   * @param onParked called each time the change is parked
   * @param cause absent: svc itself
   * @param checksFirst as of a `Write`
   */
  async perform<T>(
    kind: string,
    change: (writer: Writer) => T,
    onParked?: () => void,
    {cause, checksFirst}: Pick<Write<T>, 'cause' | 'checksFirst'> = {},
  ): Promise<T> {
    for (let wasParked = false; ; wasParked = true) {
      try {
        const result = await this.#groups.perform(change, cause, checksFirst);
        if (wasParked) this.#goesOn(kind);
        return result;
      } catch (caught) {
        if (this.#stopped) return await never();
        if (!isRefusal(caught)) {
          this.#onFailure(kind, caught);
          return await never();
        }
        if (!wasParked) this.#park(kind, caught);
        onParked?.();
        await this.#pause();
      }
    }
  }

  isParked(kind: string): boolean {
    return this.#parked.has(kind);
  }

  /** The tenant is closing: no more retries. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #park(kind: string, reason: ServiceError): void {
    const count = this.#parked.get(kind) ?? 0;
    this.#parked.set(kind, count + 1);
    if (count === 0) this.#log.warn(`${kind} is put off until the writer takes it`, {reason: reason.message});
  }

  #goesOn(kind: string): void {
    const count = this.#parked.get(kind)!;
    if (count > 1) {
      this.#parked.set(kind, count - 1);
      return;
    }
    this.#parked.delete(kind);
    this.#log.info(`${kind} goes on`);
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, BACKGROUND_RETRY_MS);
      this.#timers.add(timer);
    });
  }
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'session.storage_full',
  'session.storage_read_only',
  'session.tenant_read_only',
  'session.overloaded',
  'op.storage_damaged',
]);

/** The writer refuses it now, and can accept it once there is space or the file is repaired. */
function isRefusal(caught: unknown): caught is ServiceError {
  return caught instanceof ServiceError && REFUSALS.has(caught.code);
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
