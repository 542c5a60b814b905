/** What tests compare of a rejected token. */
import {ServiceError} from '../../../shared/errors.ts';

/** `reason: message` of the 401 that `attempt` ends with; `accepted` when it does not. Anything else is rethrown. */
export async function rejectionOf(attempt: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof attempt === 'function' ? attempt() : attempt);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'auth.unauthorized') throw error;
    return `${String(error.detail?.reason)}: ${error.message}`;
  }
}
