/**
 * Runs a full garbage collection of this thread's own heap. isolated-vm crashes the process if its handles are
 * collected while their thread is torn down. So a thread that releases its isolates collects them first, while it is
 * intact.
 */
import {queryObjects} from 'node:v8';

/**
 * Has no instances: V8 collects all garbage before it counts them. `gc` would need a V8 flag that every isolate could
 * see.
 */
class Nothing {}

export function collectGarbage(): void {
  queryObjects(Nothing, {format: 'count'});
}
