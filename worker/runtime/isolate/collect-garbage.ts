/**
 * A full collection of this thread's own heap. isolated-vm ends the process when handles of its are collected as their thread
 * is taken down; a thread that lets go of its isolates collects them first, while it is whole.
 */
import {queryObjects} from 'node:v8';

/** Of nothing: V8 collects all garbage before it counts. `gc` would need a flag of V8's that every isolate could see. */
class Nothing {}

export function collectGarbage(): void {
  queryObjects(Nothing, {format: 'count'});
}
