/**
 * What a worker and the process of its query and action isolates say to each other. The worker looks at everything that comes from
 * there as at outside input (checked-message.ts): code that has left its isolate may say what it likes.
 */
import type {ErrorObject} from '../../../shared/errors.ts';
import type {ActionRequest, HttpOperation, MainOperation} from '../actions/action-message.ts';
import type {Execution, Outcome} from '../execution.ts';
import type {QueryRun} from '../queries/query-batch.ts';

/** Arguments are the frame's tail. */
export type SentExecution = Omit<Execution, 'env' | 'args'>;
export type SentAction = Omit<ActionRequest, 'env' | 'args'>;

/** A frame has a tail where it is named. */
export type ToIsolates =
  /** First. */
  | {type: 'open'; databasePath: string}
  /** The variables of all that is asked from now on. */
  | {type: 'env'; env: Readonly<Record<string, string>>}
  /** Of `count` queries that read one snapshot, this is number `at`; they are run when the last is there. Tail: its arguments. */
  | {type: 'query'; id: number; at: number; count: number; execution: SentExecution}
  /** Tail: its arguments. */
  | {type: 'action'; id: number; request: SentAction}
  /** The action is of no use any more. */
  | {type: 'cancel'; id: number}
  /** To a `call` of the action. Tail: the answer's bytes, if it has some; else the answer, which is then not in the head. */
  | {type: 'answer'; id: number; call: number; answer: string | null}
  /** Answered by `alive`. */
  | {type: 'look'}
  /** What runs comes to its end, what waits is refused; then `closed` is said. */
  | {type: 'close'};

/** Of an outcome the value is the frame's tail. */
export type SentOutcome = {ok: true} | Extract<Outcome, {ok: false}>;
export type SentRun = Omit<QueryRun, 'outcome'> & {outcome: SentOutcome};

export type FromIsolates =
  /** It has begun nothing before. */
  | {type: 'ready'}
  /** Query number `at` was run. Tail: its value. */
  | {type: 'ran'; id: number; at: number; run: SentRun}
  /** An action has ended. Tail: its value. */
  | {type: 'outcome'; id: number; outcome: SentOutcome}
  /** The action, or all queries of the id, could not be run. `reason`: an error of ours, which the worker logs. */
  | {type: 'refused'; id: number; error: ErrorObject; reason: string | null}
  | {type: 'log'; id: number; line: string}
  /** What the action asks of the main thread. Tail: bytes, if it comes with some; else its parameters, which are then not in the head. */
  | {type: 'call'; id: number; call: number; operation: MainOperation | HttpOperation; parameters: string | null}
  | {type: 'alive'}
  | {type: 'closed'};
