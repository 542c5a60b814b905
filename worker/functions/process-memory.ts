/**
 * The memory of this worker, looked at while functions are called. An isolate's limit counts its heap and buffers, but not one
 * large string and not WebAssembly; the supervisor's limit of the process would end it with all that goes on in it.
 *
 * Isolates keep what their last call left in them. When there is too much of it, those that run nothing are let go of: nothing
 * else would, as long as no function starts.
 */
import {ServiceError} from '../../shared/errors.ts';
import {FUNCTIONS_PROCESS_BYTES_MAX, FUNCTIONS_PROCESS_LOOK_MS} from '../../shared/limits.ts';

const relieving = new Set<() => void>();
let lookedMs = Number.NEGATIVE_INFINITY;
let bytes = 0;

/** @param relieve lets go of isolates that run nothing. @returns how to stop being asked */
export function onFullMemory(relieve: () => void): () => void {
  relieving.add(relieve);
  return () => relieving.delete(relieve);
}

/** @throws session.overloaded 503 when no more functions should start now */
export function checkMemory(): void {
  const nowMs = performance.now();
  if (nowMs - lookedMs >= FUNCTIONS_PROCESS_LOOK_MS) {
    lookedMs = nowMs;
    bytes = process.memoryUsage.rss();
    if (bytes > FUNCTIONS_PROCESS_BYTES_MAX) for (const relieve of relieving) relieve();
  }
  if (bytes <= FUNCTIONS_PROCESS_BYTES_MAX) return;
  throw new ServiceError('session.overloaded', 'the functions under way need too much memory; try again shortly');
}
