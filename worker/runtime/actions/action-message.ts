/** The messages between the main thread and an action thread. */

import type {MessagePort} from 'node:worker_threads';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import type {Execution, Outcome, Refused} from '../execution.ts';

/** For an HTTP action: `module` is `http`, `name` the route's index, `args` JSON of HttpRequestHead. */
export type ActionRequest = Pick<Execution, 'deployment' | 'module' | 'name' | 'args' | 'caller' | 'env'> & {
  kind: 'action' | 'httpAction';
  requestId: string;
  egress: EgressEndpoint;
};

/** Settings of a thread, passed at its start. Smaller limits are for tests. */
export type ActionThreadSettings = {databasePath: string; actionMsMax: number; actionCpuMsMax: number};

/** One task of the pool; all other messages about the action use the thread's port. */
export type ActionTask = {action: number; request: ActionRequest};

/** The first message of a thread. */
export type ThreadReady = {actionPort: MessagePort};

/** Operations that the main thread carries out; network and timer operations stay in the thread. */
export const MAIN_OPERATIONS = ['runQuery', 'runMutation', 'runAction', 'schedule', 'cancel'] as const;
export type MainOperation = (typeof MAIN_OPERATIONS)[number];
export const HTTP_OPERATIONS = ['httpBody', 'httpBodyCancel', 'httpRespond', 'httpWrite'] as const;
export type HttpOperation = (typeof HTTP_OPERATIONS)[number];

export function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name);
}

export type FromThread =
  | {type: 'begun'; action: number}
  | {
      type: 'call';
      action: number;
      call: number;
      operation: MainOperation | HttpOperation;
      parameters: string;
      bytes: Uint8Array | null;
    }
  | {type: 'log'; action: number; line: string}
  | {type: 'outcome'; action: number; outcome: Outcome | Refused}
  /** The largest of its actions, and its approximate memory; null: it has none. */
  | {type: 'heaviest'; weighing: number; action: number | null; bytes: number}
  | {type: 'rested'};

export type ToThread =
  | {type: 'answer'; action: number; call: number; answer: string; bytes: Uint8Array | null}
  /** The action is no longer needed: it fails with this message. */
  | {type: 'cancel'; action: number; message: string}
  /** Memory is short: idle isolates are freed, and the thread reports its largest action. */
  | {type: 'releaseIdle'; unusedMs: number}
  | {type: 'weigh'; weighing: number}
  /** The thread will be ended: it releases everything of isolated-vm and confirms it. */
  | {type: 'rest'};

/** A host answer that is an error. */
export function refusal(message: string, name = 'Error'): string {
  return `-${JSON.stringify({name, message})}`;
}
