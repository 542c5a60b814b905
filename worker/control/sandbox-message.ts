/**
 * Messages between a worker and the process of its sandboxes, over a pipe (runtime/process/pipe.ts). Messages from the
 * process are outside input: its code may have escaped its isolate.
 */

import type {Buffer} from 'node:buffer';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import type {ExecutionFault} from '../../shared/protocol/sandboxes.ts';
import {type Fields, isText} from '../../shared/values/shapes.ts';
import {LOG_LINES_MAX} from '../runtime/guest/limits.ts';
import {isJson} from '../runtime/process/is-json.ts';
import {SANDBOX_VALUE_CHARS_MAX} from './limits.ts';

export type ExecutionRequest = {
  code: string;
  /** JSON. */
  args: string;
  timeoutMs: number;
  cpuMs: number;
  env: Readonly<Record<string, string>>;
  /** Null: no network. */
  egress: EgressEndpoint | null;
};

type Ended = {
  lines: string[];
  durationMs: number;
  /** Why the sandbox is of no further use; null: it goes on. */
  broken: string | null;
};
export type Failed = Ended & {ok: false; reason: ExecutionFault; name: string; message: string; stack: string | null};
/** `value`: wire text. */
export type ExecutionResult = (Ended & {ok: true; value: string}) | Failed;

export type ToHost =
  /** Answered by `opened`. */
  | {type: 'open'; sandbox: string; memoryMb: number}
  /** One execution at a time per sandbox. Answered by `executed`. */
  | {type: 'execute'; sandbox: string; execution: number; request: ExecutionRequest}
  /** Ends the sandbox, even during an execution. */
  | {type: 'close'; sandbox: string}
  /** Memory is short: the largest sandbox is ended, and reported as `broken`. */
  | {type: 'shed'};

type Said<Result> =
  | {type: 'opened'; sandbox: string}
  | {type: 'executed'; execution: number; result: Result}
  | {type: 'broken'; sandbox: string; reason: string};
export type FromHost = Said<ExecutionResult>;
/** The value is in the frame's tail. */
export type Sent = Said<(Ended & {ok: true}) | Failed>;

const FAULTS: ReadonlySet<unknown> = new Set<ExecutionFault>([
  'syntax',
  'threw',
  'timed_out',
  'out_of_memory',
  'unfinished',
  'ended',
]);

/** @returns null: our host never sends such a message */
export function checkedFromHost({type, sandbox, execution, reason, result}: Fields, tail: Buffer): FromHost | null {
  if (type === 'opened' && isText(sandbox)) return {type, sandbox};
  if (type === 'broken' && isText(sandbox) && isText(reason)) return {type, sandbox, reason};
  if (type !== 'executed' || !Number.isSafeInteger(execution)) return null;
  const checked = resultIn(result, tail);
  return checked === null ? null : {type, execution: execution as number, result: checked};
}

function resultIn(said: unknown, tail: Buffer): ExecutionResult | null {
  if (typeof said !== 'object' || said === null) return null;
  const {ok, lines, durationMs, broken, reason, name, message, stack} = said as Fields;
  if (!Array.isArray(lines) || lines.length > LOG_LINES_MAX || !lines.every(isText)) return null;
  if (typeof durationMs !== 'number' || !(broken === null || isText(broken))) return null;
  if (ok === true) {
    const value = tail.toString();
    return value.length <= SANDBOX_VALUE_CHARS_MAX && isJson(value) ? {ok, lines, durationMs, broken, value} : null;
  }
  if (ok !== false || !FAULTS.has(reason) || !isText(name) || !isText(message)) return null;
  if (!(stack === null || isText(stack))) return null;
  return {ok, lines, durationMs, broken, reason: reason as ExecutionFault, name, message, stack};
}
