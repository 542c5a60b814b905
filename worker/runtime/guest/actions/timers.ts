/**
 * Timers of actions. The host sleeps for them. A timer that was cleared, or whose action ended, never fires. Timers do
 * not keep an action alive.
 */
import {forgetCall, forgetCalls, notifyHost, startCall} from './async-call.ts';

/** The call that sleeps, by timer id. */
const sleeping = new Map<number, number>();
let lastTimer = 0;

/** @param delayMs the caller's value, of any type. @throws if there are too many timers */
export function startTimer(
  callback: (...args: unknown[]) => unknown,
  delayMs: unknown,
  args: unknown[],
  repeats: boolean,
): number {
  const id = ++lastTimer;
  const ms = Math.max(repeats ? 1 : 0, Number(delayMs) || 0);
  sleep(id, ms, () => {
    if (repeats) sleepAgain();
    else sleeping.delete(id);
    callback(...args);
  });
  function sleepAgain(): void {
    sleep(id, ms, () => {
      sleepAgain();
      callback(...args);
    });
  }
  return id;
}

/** Ignores any value that is not a running timer. */
export function stopTimer(id: unknown): void {
  const call = sleeping.get(Number(id));
  if (call === undefined) return;
  sleeping.delete(Number(id));
  forgetCall(call);
  notifyHost('sleepCancel', {call});
}

/** Called before an invocation: drops all timers and pending answers of the one before. */
export function resetTimers(): void {
  sleeping.clear();
  forgetCalls();
}

function sleep(id: number, ms: number, onEnd: () => void): void {
  const call = startCall('sleep', {ms}, null, failure => {
    if (failure === null) onEnd();
  });
  sleeping.set(id, call);
}
