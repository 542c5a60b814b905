/**
 * Random bytes: from the host in actions, otherwise from the seeded generator, so that an invocation can be run again.
 */
import {HostOp} from '../host-call.ts';
import {hostText, state} from '../state.ts';
import {fromOneByteString} from './bytes.ts';

export function randomBytes(count: number): Uint8Array {
  if (count === 0) return new Uint8Array(0);
  return state.phase === 'action' ? fromOneByteString(hostText(HostOp.randomBytes, count)) : state.randomBytes(count);
}
