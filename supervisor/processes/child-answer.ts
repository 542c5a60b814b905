/** The answer of a child process to a request of a route. */
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';

export type ChildAnswer = {result: unknown; error: ErrorObject | null};

/** @param answer null: there is none. @param silence the message for that case. @throws ServiceError */
export function resultIn(answer: ChildAnswer | null, silence: string): unknown {
  if (answer === null) throw new ServiceError('session.worker_unavailable', silence);
  const {result, error} = answer;
  if (error !== null) throw new ServiceError(error.code, error.message, error.detail);
  return result;
}
