/** What tests compare of a rejected token. */
import {ServiceError} from '../../../shared/errors.ts';

/** `reason: message` of the 401 that `attempt` ends with, `later: …` of the 503; `accepted` when it does not. Anything else is rethrown. */
export async function rejectionOf(attempt: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof attempt === 'function' ? attempt() : attempt);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== 'auth.unauthorized' && error.code !== 'session.auth_unavailable') throw error;
    return `${error.code === 'session.auth_unavailable' ? 'later: ' : ''}${String(error.detail?.reason)}: ${error.message}`;
  }
}
