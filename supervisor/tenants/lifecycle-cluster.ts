/** The steps of a tenant that another host of the cluster can serve, as drawn in `lifecycle-states.ts`. */
import {unreachable} from '../../shared/assert.ts';
import type {ErrorObject} from '../../shared/errors.ts';
import type {Input, Lifecycle, Step} from './lifecycle-states.ts';
import {beginClose, failIf, RETRY_AFTER_MS, stay, stepWaited, to} from './lifecycle-step.ts';

export function stepAcquiring(lifecycle: Lifecycle & {state: 'acquiring'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'granted':
      return to({state: 'queued', crashes, requested}, {type: 'enqueue'});
    case 'located_there':
      return to({state: 'remote', crashes}, {type: 'ready'});
    case 'nowhere':
      return to({state: 'asleep', crashes}, ...failIf(requested, input.error, RETRY_AFTER_MS));
    case 'shut_down':
      return to({state: 'asleep', crashes});
    default:
      return stepWaited(lifecycle, input);
  }
}

export function stepRemote(lifecycle: Lifecycle & {state: 'remote'}, input: Input): Step {
  const {crashes} = lifecycle;
  switch (input.type) {
    case 'want':
      // The router has lost its link, or is another one: the tenant can have another owner by now.
      return input.requested ? to({state: 'acquiring', crashes, requested: true}, {type: 'locate'}) : stay(lifecycle);
    case 'moved':
      return to({state: 'asleep', crashes}, {type: 'refer_again'});
    case 'let_go':
      return to(lifecycle, {type: 'release'});
    case 'released':
      return input.busy ? stay(lifecycle) : to({state: 'asleep', crashes});
    case 'shut_down':
      return to({state: 'asleep', crashes});
    default:
      return stay(lifecycle);
  }
}

export function stepHandingOver(lifecycle: Lifecycle & {state: 'handing_over'}, input: Input): Step {
  const {crashes, requested} = lifecycle;
  switch (input.type) {
    case 'given_up':
      return to({state: 'closing', crashes, wanted: requested, requested, stored: false}, {type: 'close'});
    case 'ended':
      return requested ? to({state: 'queued', crashes, requested}, {type: 'enqueue'}) : to({state: 'asleep', crashes});
    case 'shut_down':
      return beginClose(crashes);
    default:
      return stepWaited(lifecycle, input);
  }
}

/** The routers that use the worker lose their links, and request the tenant again if they need it. */
export function fence(lifecycle: Exclude<Lifecycle, {state: 'deleting'}>): Step {
  const {crashes} = lifecycle;
  switch (lifecycle.state) {
    case 'queued':
      return to({state: 'asleep', crashes}, ...failIf(lifecycle.requested, handsOverError(), RETRY_AFTER_MS));
    case 'waking':
    case 'moving':
    case 'handing_over': {
      const {requested} = lifecycle;
      return to({state: 'closing', crashes, wanted: requested, requested, stored: true}, {type: 'kill'});
    }
    case 'awake':
    case 'releasing':
      return to({state: 'closing', crashes, wanted: false, requested: false, stored: true}, {type: 'kill'});
    case 'closing':
      return to({...lifecycle, stored: true}, {type: 'kill'});
    case 'pausing':
      return to({...lifecycle, isEnding: true, stored: true}, {type: 'kill'});
    case 'asleep':
    case 'acquiring':
    case 'remote':
    case 'resting':
    case 'paused':
    case 'errand':
      return stay(lifecycle);
    default:
      return unreachable(lifecycle);
  }
}

export function handsOverError(): ErrorObject {
  return {code: 'session.worker_unavailable', message: 'another host of the cluster takes the tenant over; ask again'};
}
