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

export type BackgroundWrite<T> = Pick<Write<T>, 'cause' | 'checksFirst' | 'collects'> & {
  run(writer: Writer): T;
  /** Called once: the change is on disk. */
  done(result: T): void;
  /** Called each time the change is parked. */
  onParked?: (() => void) | undefined;
};

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
   * Resolves when the change is on disk, and never rejects. As `submit` otherwise.
   * @param kind description for the log: "an index build"
   * @param onParked called each time the change is parked
   * @param cause absent: svc itself
   * @param checksFirst as of a `Write`
   */
  perform<T>(
    kind: string,
    change: (writer: Writer) => T,
    onParked?: () => void,
    {cause, checksFirst}: Pick<Write<T>, 'cause' | 'checksFirst'> = {},
  ): Promise<T> {
    return new Promise(resolve => this.submit(kind, {run: change, done: resolve, onParked, cause, checksFirst}));
  }

  /**
   * The change can run several times: each attempt is rolled back before the next. After `stop` there are no retries, and
   * a change that is not on disk never settles.
   */
  submit<T>(kind: string, write: BackgroundWrite<T>): void {
    this.#submit(kind, write, false);
  }

  /** @param wasParked it is tried again, and then does not collect: fewer writes fail or run again with it */
  #submit<T>(kind: string, write: BackgroundWrite<T>, wasParked: boolean): void {
    this.#groups.submit<T>({
      cause: write.cause,
      checksFirst: write.checksFirst,
      collects: write.collects === true && !wasParked,
      run: write.run,
      settle: outcome => {
        if (outcome instanceof ServiceError) {
          this.#refused(kind, write, outcome, wasParked);
          return;
        }
        if (wasParked) this.#goesOn(kind);
        write.done(outcome);
      },
    });
  }

  #refused<T>(kind: string, write: BackgroundWrite<T>, error: ServiceError, wasParked: boolean): void {
    if (this.#stopped) return;
    if (!REFUSALS.has(error.code)) {
      this.#onFailure(kind, error);
      return;
    }
    if (!wasParked) this.#park(kind, error);
    write.onParked?.();
    this.#pause(() => this.#submit(kind, write, true));
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

  #pause(then: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      then();
    }, BACKGROUND_RETRY_MS);
    this.#timers.add(timer);
  }
}

/** The writer refuses it now, and can accept it once there is space or the file is repaired. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'session.storage_full',
  'session.storage_read_only',
  'session.tenant_read_only',
  'session.overloaded',
  'op.storage_damaged',
]);
