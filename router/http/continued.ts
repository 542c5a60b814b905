/** A stream of events that continues at another worker of its tenant. */
import type {Buffer} from 'node:buffer';
import {isErrorObject, ServiceError} from '../../shared/errors.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';

/** The request for what follows an event. @param meta as JSON */
export function metaContinuing(meta: string, after: string): string {
  return JSON.stringify({...(JSON.parse(meta) as RequestMeta), c: after});
}

/** A stream that ends after a number of events cannot continue: the next worker would count from the beginning. */
export function isCounted(query: string): boolean {
  return new URLSearchParams(query).has('limit');
}

/** Why the next worker does not continue it, from the body of its answer; null: it gives no reason. */
export function refusalIn(body: Buffer): ServiceError | null {
  try {
    const {error} = JSON.parse(body.toString('utf8')) as {error?: unknown};
    return isErrorObject(error) ? new ServiceError(error.code, error.message, error.detail) : null;
  } catch {
    return null;
  }
}
