/**
 * Asynchronous calls of the host: started here, answered later through the kernel's `settle`. Call numbers count up for as
 * long as the realm lives, so an answer that comes after its invocation ended finds nobody waiting and is dropped.
 */

import {HostOp} from '../host-call.ts';
import {ACTION_CALLS_MAX} from '../limits.ts';
import {hostError, hostText} from '../state.ts';

export type CallAnswer = {text: string; bytes: Uint8Array | null};
/** @param failure null: the host did what it was asked */
type Settle = (failure: Error | null, answer: CallAnswer) => void;

const waiting = new Map<number, Settle>();
let lastCall = 0;
let underWay = 0;

/** @param parameters a string is passed as it is. @returns the call's number. @throws what the host refuses at once */
export function startCall(operation: string, parameters: unknown, bytes: Uint8Array | null, settle: Settle): number {
  const call = ++lastCall;
  waiting.set(call, settle);
  try {
    const text = typeof parameters === 'string' ? parameters : JSON.stringify(parameters);
    hostText(HostOp.start, call, operation, text, bytes ?? undefined);
  } catch (refused) {
    waiting.delete(call);
    throw refused;
  }
  return call;
}

export async function asyncCall(operation: string, parameters: unknown, bytes?: Uint8Array): Promise<CallAnswer> {
  if (underWay >= ACTION_CALLS_MAX) {
    throw new Error(
      `Too many concurrent operations (maximum ${ACTION_CALLS_MAX}): await some before starting ${operation}`,
    );
  }
  underWay++;
  return new Promise((resolve, reject) => {
    const settle: Settle = (failure, answer) => {
      underWay--;
      if (failure === null) resolve(answer);
      else reject(failure);
    };
    try {
      startCall(operation, parameters, bytes ?? null, settle);
    } catch (refused) {
      settle(refused as Error, NO_ANSWER);
    }
  });
}

/** Nobody waits for an answer to this, not even for a refusal. */
export function notifyHost(operation: string, parameters: unknown): void {
  try {
    startCall(operation, parameters, null, () => {});
  } catch {
    // What it speaks of is gone.
  }
}

/** The host's answer to a call. @param answer `+` and the result, or `-` and JSON of the error */
export function settleCall(call: number, answer: string, bytes: Uint8Array | null): void {
  const settle = waiting.get(call);
  if (settle === undefined) return;
  waiting.delete(call);
  if (answer.startsWith('+')) settle(null, {text: answer.slice(1), bytes});
  else settle(hostError(answer), NO_ANSWER);
}

/** What nobody wants to be told any more. */
export function forgetCall(call: number): void {
  waiting.delete(call);
}

/** A new invocation: whatever waited belongs to the one before. */
export function forgetCalls(): void {
  waiting.clear();
  underWay = 0;
}

const NO_ANSWER: CallAnswer = {text: '', bytes: null};
