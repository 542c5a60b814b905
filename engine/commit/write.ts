/** A write as its caller submits it to the commit group. */
import type {ServiceError} from '../../shared/errors.ts';
import type {Cause} from './cause.ts';
import type {Writer} from './writer.ts';

export type Write<T> = (
  | {
      /** Makes the change. A throw rolls back this write alone. Runs synchronously, inside the group's transaction. */
      run(writer: Writer): T;
    }
  | {
      /**
       * The same for a long write: at each yield other work can get the thread, once the turn is over, but no other
       * write runs.
       */
      slices(writer: Writer): Generator<void, T, void>;
    }
) & {
  /**
   * `run` throws only before its first change, or after a part that has been rolled back (`attempt.ts`), so it needs no
   * savepoint. If it throws later anyway, an assertion ends the process.
   */
  readonly checksFirst?: boolean | undefined;
  /**
   * No client waits for it, and more of its kind can follow in the next turn. A group of such writes alone is committed
   * after a turn without any, or when it has reached BACKGROUND_WRITES_MAX or BACKGROUND_WORK_MS_MAX.
   */
  readonly collects?: boolean | undefined;
  /** Its journal record names it. Absent: svc itself. */
  readonly cause?: Cause | undefined;
  /**
   * A client waits for it: while it is unknown whether its commit stays, it is settled with `session.outcome_unknown`.
   * Any other write waits until that is known, because its caller could make it twice.
   */
  readonly answersClient?: true;
  /** Called once: with the result of `run` after the commit is durable, or with the error. */
  settle(outcome: T | ServiceError): void;
};
