/** What the steps of `lifecycle.ts` and `lifecycle-cluster.ts` are made of. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {Effect, Input, Lifecycle, Step} from './lifecycle-states.ts';

/** So much later a client can try again. */
export const RETRY_AFTER_MS = 1_000;

export function to(next: Lifecycle, ...effects: Effect[]): Step {
  return {next, effects};
}

export function stay(lifecycle: Lifecycle): Step {
  return {next: lifecycle, effects: []};
}

export function failIf(requested: boolean, error: ErrorObject, retryAfterMs: number): Effect[] {
  return requested ? [{type: 'fail', error, retryAfterMs}] : [];
}

export function beginClose(crashes: number): Step {
  return to({state: 'closing', crashes, wanted: false, requested: false, stored: false}, {type: 'close'});
}

/** What states do in which a router can wait for the outcome: its wish is remembered, or it has ended. */
export function stepWaited(lifecycle: Extract<Lifecycle, {requested: boolean}>, input: Input): Step {
  if (input.type === 'want') return to({...lifecycle, requested: lifecycle.requested || input.requested});
  return input.type === 'router_ended' ? to({...lifecycle, requested: false}) : stay(lifecycle);
}
