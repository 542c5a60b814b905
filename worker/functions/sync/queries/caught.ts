/**
 * What was caught where a client's message is handled, or a query of it is run. What is no ServiceError is a bug, of that query or message:
 * the log has it with its stack, a metric counts it, and the worker goes on with the others. Otherwise a client that comes back with what it
 * had asked for would end one worker after another.
 */

import type {SocketFailure, WorkerMetrics} from '../../../../engine/metrics.ts';
import {refusalOf} from '../../../../engine/storage/failure.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import type {Logger} from '../../../../shared/log.ts';

export type CaughtParts = {log: Pick<Logger, 'error'>; metrics: Pick<WorkerMetrics, 'socketFailed'>};

/** @throws what ends the process */
export function caughtError(
  {log, metrics}: CaughtParts,
  what: SocketFailure,
  caught: unknown,
  facts: Record<string, unknown> = {},
): ServiceError {
  if (caught instanceof ServiceError) return caught;
  const error = refusalOf(caught);
  metrics.socketFailed(what);
  log.error('something unexpected failed on a function socket', {what, ...facts, error: error.cause ?? error});
  return error;
}
