/**
 * Handles exceptions from a client's message or a run of its query. An exception that is no ServiceError is a bug in
 * handling that message or query: it is logged with its stack and counted by a metric, and the worker goes on with the
 * other clients. Otherwise a client that reconnects and repeats its request would crash one worker after another.
 */

import type {SocketFailure, WorkerMetrics} from '../../../../engine/metrics.ts';
import {refusalOf} from '../../../../engine/storage/failure.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import type {Logger} from '../../../../shared/log.ts';

export type CaughtParts = {log: Pick<Logger, 'error'>; metrics: Pick<WorkerMetrics, 'socketFailed'>};

/** @throws exceptions that must end the process */
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
