/**
 * Handles exceptions from a client's message or a run of its query. An exception that is no ServiceError is a bug in
 * handling that message or query: it is logged with its stack and counted by a metric, and the worker goes on with the
 * other clients. Otherwise a client that reconnects and repeats its request would crash one worker after another.
 */

import {refusalOf} from '../../../../engine/storage/failure.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import type {Logger} from '../../../../shared/log.ts';
import type {SocketFailure, WorkerMetrics} from '../../../../shared/metrics/worker-metrics.ts';

export type CaughtParts = {log: Pick<Logger, 'error'>; metrics: Pick<WorkerMetrics, 'count'>};

/** @throws exceptions that must end the process */
export function caughtError(
  {log, metrics}: CaughtParts,
  what: SocketFailure,
  caught: unknown,
  facts: Record<string, unknown> = {},
): ServiceError {
  if (caught instanceof ServiceError) return caught;
  const error = refusalOf(caught);
  metrics.count('svc_function_socket_failures_total', {what});
  log.error('something unexpected failed on a function socket', {what, ...facts, error: error.cause ?? error});
  return error;
}
