/**
 * The time in a realm. While modules load it is the deployment's time. In queries and mutations it is the start of the
 * invocation, so that a repeated run computes the same. In actions it is the host's time.
 */
import {HostOp, Observed} from '../host-call.ts';
import {hostText, state} from '../state.ts';

/** Increment of performance.now() for each call while time is frozen. */
const STEP_MS = 0.1;

/** Epoch milliseconds, a whole number. */
export function nowMs(): number {
  state.observed |= Observed.clock;
  return state.phase === 'action' ? Number(hostText(HostOp.now)) : state.nowMs;
}

/** Milliseconds since the invocation began. Fixed in queries and while modules load, growing elsewhere. */
export function elapsedMs(): number {
  switch (state.phase) {
    case 'mutation':
      state.performanceMs += STEP_MS;
      break;
    case 'action':
      state.performanceMs = Math.max(state.performanceMs + STEP_MS, nowMs() - state.nowMs);
      break;
  }
  return state.performanceMs;
}
