/**
 * Asynchronous calls to the host: started here, answered later through the kernel's `settle`. Call numbers increase for
 * the life of the realm, so an answer that arrives after its invocation ended matches no call and is dropped.
 */

import {HostOp} from '../host-call.ts';
import {ACTION_CALLS_MAX} from '../limits.ts';
import {hostError, hostText} from '../state.ts';

export type CallAnswer = {text: string; bytes: Uint8Array | null};
/** @param failure null: the host carried out the call */
type Settle = (failure: Error | null, answer: CallAnswer) => void;

const waiting = new Map<number, Settle>();
let lastCall = 0;
let underWay = 0;

/**
 * @param parameters a string is passed unchanged. @returns the call's number. @throws if the host refuses the call at
 * once
 */
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

/** Sends a notification: no answer is expected, not even a refusal. */
export function notifyHost(operation: string, parameters: unknown): void {
  try {
    startCall(operation, parameters, null, () => {});
  } catch {
    // The object of the notification no longer exists.
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

/** Drops the answer to a call. */
export function forgetCall(call: number): void {
  waiting.delete(call);
}

/** Called for a new invocation: all pending calls belong to an earlier one. */
export function forgetCalls(): void {
  waiting.clear();
  underWay = 0;
}

const NO_ANSWER: CallAnswer = {text: '', bytes: null};
