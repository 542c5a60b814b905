/** Handles each request that a link still holds when it closes; `link.ts` has the table. */
import {ServiceError, unavailable} from '../../shared/errors.ts';
import type {WorkerName} from '../../shared/ipc/control.ts';
import {READ_AGAIN_MS_MAX} from '../limits.ts';
import type {Forwarded} from './forwarded.ts';

/** The request never reached the worker, but part of its body may have been lost with the link. */
export function sendAgain(request: Forwarded, unanswered: Forwarded[]): void {
  if (request.upload?.hasBegun === true) {
    request.fail(unavailable("the tenant's worker ended before it got the request"));
    return;
  }
  request.upload?.detach();
  unanswered.push(request);
}

/**
 * A scan that had just begun is not what a worker hung on, because the watchdog takes longer than that to detect a
 * hang.
 */
export function mayHaveEndedIt(request: Forwarded, nowMs: number): boolean {
  return request.call !== null || (!request.isShort && nowMs - request.sentMs > READ_AGAIN_MS_MAX);
}

/** A dying worker may accept one more connection before its socket is gone: losing it again is not a second crash. */
export function retryOnce(request: Forwarded, worker: WorkerName, unanswered: Forwarded[]): void {
  if (request.lostWorker !== null && request.lostWorker !== worker) {
    request.fail(unavailable("the tenant's worker ended twice during this read"));
    return;
  }
  request.lostWorker = worker;
  unanswered.push(request);
}

/** Its answer was being streamed. */
export function endStreamed(request: Forwarded): void {
  if (request.hasBegun) request.endStream(true);
  else if (!request.isRead) request.fail(outcomeUnknown());
  else request.fail(unavailable("the tenant's worker ended before it answered"));
}

export function outcomeUnknown(): ServiceError {
  return new ServiceError(
    'session.outcome_unknown',
    "the tenant's worker ended before it answered; the write may or may not have happened",
  );
}

export function notSentAgain(): ServiceError {
  return unavailable(
    "the tenant's worker ended while it had this request, which is not sent to the next one by itself; nothing was changed",
  );
}
