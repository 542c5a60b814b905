/**
 * The time in a realm. While modules load it is the deployment's, in queries and mutations that of the start of the
 * invocation, so that one that is run again computes the same; in actions it is the host's.
 */
import {HostOp, Observed} from '../host-call.ts';
import {hostText, state} from '../state.ts';

/** What performance.now() gains by being asked, where time stands still. */
const STEP_MS = 0.1;

/** Epoch milliseconds, whole. */
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
