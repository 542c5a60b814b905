/**
 * The memory of this worker, looked at while functions are called. An isolate's limit counts its heap and buffers, but not one
 * large string and not WebAssembly; the supervisor's limit of the process would end it with all that goes on in it.
 */
import {ServiceError} from '../../shared/errors.ts';
import {FUNCTIONS_PROCESS_BYTES_MAX, FUNCTIONS_PROCESS_LOOK_MS} from '../../shared/limits.ts';

let lookedMs = Number.NEGATIVE_INFINITY;
let bytes = 0;

/** @throws session.overloaded 503 when no more functions should start now */
export function checkMemory(): void {
  const nowMs = performance.now();
  if (nowMs - lookedMs >= FUNCTIONS_PROCESS_LOOK_MS) {
    lookedMs = nowMs;
    bytes = process.memoryUsage.rss();
  }
  if (bytes <= FUNCTIONS_PROCESS_BYTES_MAX) return;
  throw new ServiceError('session.overloaded', 'the functions under way need too much memory; try again shortly');
}
