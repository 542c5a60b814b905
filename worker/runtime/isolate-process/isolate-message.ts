/**
 * The messages between a worker and the process of its query and action isolates. The worker checks everything from
 * that process as outside input (checked-message.ts), because code that has escaped its isolate can send anything.
 */
import type {ErrorObject} from '../../../shared/errors.ts';
import type {WorkerUser} from '../../../shared/ipc/control.ts';
import type {ActionRequest, HttpOperation, MainOperation} from '../actions/action-message.ts';
import type {PackedExecutions} from '../queries/packed-executions.ts';
import type {SentOutcome, SentRun} from '../queries/packed-run.ts';

/** The arguments are the tail of the frame. */
export type SentAction = Omit<ActionRequest, 'env' | 'args'>;

/** Query number `at` of `count` queries with this id that read one snapshot; they run when the last one has arrived. */
export type QuerySlot = readonly [id: number, at: number, count: number];
/** The run of query number `at` with this id. Its value is the next part of the tail. */
export type RanRow = readonly [id: number, at: number, valueBytes: number, run: SentRun];

/** A frame has a tail if its comment mentions one. */
export type ToIsolates =
  /** Sent at most once, before `open`: the worker switches to this user, too. */
  | {type: 'become'; user: WorkerUser}
  /** Sent once, before any call. */
  | {type: 'open'; databasePath: string}
  /** Queries will come: a thread starts for them. Answered by `warmed`. */
  | {type: 'warm'}
  /** The variables for all later calls. */
  | {type: 'env'; env: Readonly<Record<string, string>>}
  /** Queries, with as many slots as calls. Tail: their arguments. */
  | ({type: 'queries'; slots: QuerySlot[]} & PackedExecutions)
  /** Tail: its arguments. */
  | {type: 'action'; id: number; request: SentAction}
  /** The caller no longer needs the action. */
  | {type: 'cancel'; id: number}
  /**
   * The answer to a `call` of the action. Tail: the answer's bytes, if any; otherwise the answer itself, and `answer`
   * is null.
   */
  | {type: 'answer'; id: number; call: number; answer: string | null}
  /** Answered by `alive`. */
  | {type: 'look'}
  /** Running calls complete and waiting calls are refused; then the process sends `closed`. */
  | {type: 'close'};

export type FromIsolates =
  /** Sent before it begins any call. */
  | {type: 'ready'}
  /** Queries were run. Tail: their values. */
  | {type: 'ran'; runs: RanRow[]}
  /** An action has ended. Tail: its value. */
  | {type: 'outcome'; id: number; outcome: SentOutcome}
  /** The action, or all queries with this id, could not be run. `reason`: an internal error, which the worker logs. */
  | {type: 'refused'; id: number; error: ErrorObject; reason: string | null}
  | {type: 'log'; id: number; line: string}
  /**
   * A request of the action to the main thread. Tail: its bytes, if any; otherwise its parameters, which are then not
   * in the head.
   */
  | {type: 'call'; id: number; call: number; operation: MainOperation | HttpOperation; parameters: string | null}
  | {type: 'alive'}
  | {type: 'warmed'}
  | {type: 'closed'};
