/**
 * Timers of actions. The host sleeps for them; a timer that was stopped, or whose action ended, is not told of its end. They
 * do not keep an action alive.
 */
import {forgetCall, forgetCalls, notifyHost, startCall} from './async-call.ts';

/** By the timer's id: the call that sleeps for it. */
const sleeping = new Map<number, number>();
let lastTimer = 0;

/** @param delayMs what the caller passed: anything. @throws when there are too many */
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

/** Anything that is not a timer under way is ignored. */
export function stopTimer(id: unknown): void {
  const call = sleeping.get(Number(id));
  if (call === undefined) return;
  sleeping.delete(Number(id));
  forgetCall(call);
  notifyHost('sleepCancel', {call});
}

/** Before an invocation: nothing of the one before is heard of again, be it a timer or an answer of the host. */
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
