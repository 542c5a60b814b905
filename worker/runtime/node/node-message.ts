/**
 * The messages between a worker and a Node process of its deployments. Frames over a dedicated pipe have a length, a
 * JSON head and a text. The text holds what can be large (arguments, results), so that it is not JSON inside JSON.
 * Messages from the process are outside input: user code can write anything to the pipe.
 */

import {Buffer} from 'node:buffer';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {type Fields, isCount, objectIn} from '../../../shared/values/shapes.ts';
import type {Caller} from '../execution.ts';
import type {RealmError} from '../guest/host-call.ts';

/** `text` is '' for messages whose comment does not mention it. */
export type ToNode =
  /** The first message. `root`: the directory of the code, with a trailing slash. `egress` null: no network. */
  | {type: 'open'; root: string; env: Readonly<Record<string, string>>; egress: EgressEndpoint | null}
  /** Requests the exports of a module; answered by `analyzed`. */
  | {type: 'analyze'; module: string}
  /** `text`: the arguments. */
  | {type: 'call'; action: number; module: string; name: string; caller: Caller}
  /** `text`: a host answer. */
  | {type: 'answer'; action: number; call: number}
  /** The process is a service: it runs the default export of a module, once. Calls of its ctx use action 0. */
  | {type: 'serve'; module: string}
  /** A new result of a live query of the service. `text`: wire text, or JSON of {name, message}. */
  | {type: 'changed'; watch: number; ok: boolean}
  /** The service must end: its signal is aborted. */
  | {type: 'stop'}
  /**
   * The process is a sandbox: it executes code, one execution after another. `text`: `codeChars` characters of code,
   * then the arguments.
   */
  | {type: 'execute'; action: number; codeChars: number}
  /** The caller no longer waits for that execution. */
  | {type: 'drop'; action: number}
  /** Answered by `alive`, unless running code blocks the event loop. */
  | {type: 'look'};

export type FromNode =
  | {type: 'ready'}
  /** `text`: JSON of the functions, or of a RealmError. */
  | {type: 'analyzed'; module: string; ok: boolean}
  | {type: 'begun'; action: number}
  /** An asynchronous host call (`HostOp.start`). `text`: its parameters. */
  | {type: 'start'; action: number; call: number; operation: string}
  /** `text`: a console line. */
  | {type: 'log'; action: number}
  /** `text`: the result as wire text, or JSON of a RealmError. */
  | {type: 'outcome'; action: number; ok: boolean}
  /**
   * An error could not be caught in time. The action, or every action, failed, and the process cannot be used again.
   * `text`: JSON of a RealmError.
   */
  | {type: 'uncaught'; action: number | null}
  /** The function of the service is about to be called. */
  | {type: 'serving'}
  /** The function returned or threw; if it threw, `text` is JSON of a RealmError. */
  | {type: 'served'; ok: boolean}
  /** An execution has ended. `text`: its value as wire text, or JSON of a RealmError. */
  | {type: 'executed'; action: number; fault: 'syntax' | 'threw' | 'unfinished' | null}
  | {type: 'alive'};

/** Host calls of a service use this action number. */
export const SERVICE_ACTION = 0;

export type Framed<T> = T & {text: string};

const HEAD = 8;

export function frame({text, ...head}: Framed<ToNode> | Framed<FromNode>): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const bytes = Buffer.allocUnsafe(HEAD + json.length + Buffer.byteLength(text));
  bytes.writeUInt32LE(bytes.length - HEAD, 0);
  bytes.writeUInt32LE(json.length, 4);
  json.copy(bytes, HEAD);
  bytes.write(text, HEAD + json.length);
  return bytes;
}

const FAULTS: readonly unknown[] = ['syntax', 'threw', 'unfinished', null] satisfies (FromNode & {
  type: 'executed';
})['fault'][];

/** @returns null: not a message that our process sends */
export function checkedFromNode(head: Fields, tail: Buffer): Framed<FromNode> | null {
  return isFromNode(head) ? ({...head, text: tail.toString()} as Framed<FromNode>) : null;
}

function isFromNode({type, module, ok, action, call, operation, fault}: Fields): boolean {
  switch (type) {
    case 'ready':
    case 'alive':
    case 'serving':
      return true;
    case 'analyzed':
      return typeof module === 'string' && typeof ok === 'boolean';
    case 'begun':
    case 'log':
      return isCount(action);
    case 'start':
      return isCount(action) && isCount(call) && typeof operation === 'string';
    case 'outcome':
      return isCount(action) && typeof ok === 'boolean';
    case 'uncaught':
      return action === null || isCount(action);
    case 'served':
      return typeof ok === 'boolean';
    case 'executed':
      return isCount(action) && FAULTS.includes(fault);
    default:
      return false;
  }
}

/** Parses an error sent by a process. Text in another format is shown, shortened. */
export function errorIn(text: string): RealmError {
  const {name, message, stack} = objectIn(text) ?? {};
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : 'a value that cannot be shown',
    stack: typeof stack === 'string' ? stack : null,
  };
}
