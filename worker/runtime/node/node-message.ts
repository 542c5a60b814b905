/**
 * What crosses between a worker and a Node process of its deployments: frames over a pipe of their own, each a length, a head
 * in JSON and a text. The text is what may be large (arguments, results), so it is not JSON inside JSON. What comes from
 * the process is outside input: user code may write to the pipe what it likes.
 */

import {Buffer} from 'node:buffer';
import type {EgressDoor} from '../../../shared/ipc/egress.ts';
import type {Caller} from '../execution.ts';
import type {RealmError} from '../guest/host-call.ts';
import {type Fields, objectIn} from '../process/frames.ts';

/** `text` of each is '' where nothing is said of it. */
export type ToNode =
  /** First. `root`: the directory of the code, with a slash at its end. `egress` null: no network. */
  | {type: 'open'; root: string; env: Readonly<Record<string, string>>; egress: EgressDoor | null}
  /** What a module exports; answered by `analyzed`. */
  | {type: 'analyze'; module: string}
  /** `text`: the arguments. */
  | {type: 'call'; action: number; module: string; name: string; caller: Caller}
  /** `text`: a host answer. */
  | {type: 'answer'; action: number; call: number}
  /** It is a service: runs the default export of a module, once. Calls of its ctx are those of action 0. */
  | {type: 'serve'; module: string}
  /** Of the service, a new result of a live query. `text`: wire text, or JSON of {name, message}. */
  | {type: 'changed'; watch: number; ok: boolean}
  /** The service is to end: its signal says so. */
  | {type: 'stop'}
  /** It is a sandbox: executes code, one after another. `text`: so many characters of it, and then its arguments. */
  | {type: 'execute'; action: number; codeChars: number}
  /** Nobody waits for that execution any longer. */
  | {type: 'drop'; action: number}
  /** Answered by `alive`, unless code that computes holds it up. */
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
  /** Nothing could be caught in time: the action, or all of them, failed, and the process is of no more use. `text`: JSON of a RealmError. */
  | {type: 'uncaught'; action: number | null}
  /** The function of the service is about to be called. */
  | {type: 'serving'}
  /** It has returned, or thrown: `text` is JSON of a RealmError. */
  | {type: 'served'; ok: boolean}
  /** An execution has ended. `text`: its value as wire text, or JSON of a RealmError. */
  | {type: 'executed'; action: number; fault: 'syntax' | 'threw' | 'unfinished' | null}
  | {type: 'alive'};

/** What a service asks for is asked for under this number. */
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

/** @returns null: no Node process of ours says this */
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

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** An error as a process told it; what is none of ours is shown as far as it goes. */
export function errorIn(text: string): RealmError {
  const {name, message, stack} = objectIn(text) ?? {};
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : 'a value that cannot be shown',
    stack: typeof stack === 'string' ? stack : null,
  };
}
