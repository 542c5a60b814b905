/**
 * A full collection of this thread's own heap. isolated-vm ends the process when handles of its are collected as their thread
 * is taken down; a thread that lets go of its isolates collects them first, while it is whole.
 */
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';

let gc: (() => void) | null = null;

export function collectGarbage(): void {
  if (gc === null) {
    setFlagsFromString('--expose-gc');
    gc = runInNewContext('gc') as () => void;
  }
  gc();
}
