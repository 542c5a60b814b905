/** Handles each request that a link still holds when it closes; `link.ts` has the table. */
import {ServiceError, unavailable} from '../../shared/errors.ts';
import type {WorkerName} from '../../shared/ipc/control.ts';
import {READ_AGAIN_MS_MAX} from '../limits.ts';
import type {Forwarded} from './forwarded.ts';

/** How the link was lost. */
export type Loss = {worker: WorkerName; nowMs: number; wasWritten: boolean; isStreaming: boolean};

/** @param unanswered gets the request if it can be sent to another worker */
export function lost(
  request: Forwarded,
  {worker, nowMs, wasWritten, isStreaming}: Loss,
  unanswered: Forwarded[],
): void {
  if (isStreaming) endStreamed(request);
  else if (!wasWritten) sendAgain(request, unanswered);
  else if (!request.isRead) request.fail(outcomeUnknown());
  else if (mayHaveEndedIt(request, nowMs)) request.fail(notSentAgain());
  else retryOnce(request, worker, unanswered);
}

/** The request never reached the worker, but part of its body may have been lost with the link. */
function sendAgain(request: Forwarded, unanswered: Forwarded[]): void {
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
function mayHaveEndedIt(request: Forwarded, nowMs: number): boolean {
  return request.call !== null || (!request.isShort && nowMs - request.sentMs > READ_AGAIN_MS_MAX);
}

/** A dying worker may accept one more connection before its socket is gone: losing it again is not a second crash. */
function retryOnce(request: Forwarded, worker: WorkerName, unanswered: Forwarded[]): void {
  if (request.lostWorker !== null && request.lostWorker !== worker) {
    request.fail(unavailable("the tenant's worker ended twice during this read"));
    return;
  }
  request.lostWorker = worker;
  unanswered.push(request);
}

/** Its answer was being streamed. */
function endStreamed(request: Forwarded): void {
  if (request.hasBegun) request.endStream(true);
  else if (!request.isRead) request.fail(outcomeUnknown());
  else request.fail(unavailable("the tenant's worker ended before it answered"));
}

function outcomeUnknown(): ServiceError {
  return new ServiceError(
    'session.outcome_unknown',
    "the tenant's worker ended before it answered; the write may or may not have happened",
  );
}

function notSentAgain(): ServiceError {
  return unavailable(
    "the tenant's worker ended while it had this request, which is not sent to the next one by itself; nothing was changed",
  );
}
