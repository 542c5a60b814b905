/** Sends a write, and again after an outage of the server: an edit is not lost, and not made twice. */
import {connected, isLost} from '../../api/connection.ts';
import {ApiFailure} from '../../api/failure.ts';
import {randomId} from '../../api/random-id.ts';
import {showToast} from '../../parts/toast.tsx';

let waiting = 0;

/** @param write the same request each time, with these headers @throws ApiFailure other than that of an outage */
export async function outlasting<T>(write: (headers: Record<string, string>) => Promise<T>): Promise<T> {
  const headers = {'Idempotency-Key': `dashboard-${randomId()}`};
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await write(headers);
    } catch (error) {
      const isOutage = error instanceof ApiFailure && error.code === 'network' && isLost();
      // The server may have made the write before it ended: its answer to the key shows that.
      if (!isOutage && !(error instanceof ApiFailure && error.code === 'session.outcome_unknown' && isFirst))
        throw error;
      if (isFirst) showToast('Not saved yet. It is saved when the server answers; keep this page open.', {tone: 'bad'});
    }
    if (waiting++ === 0) addEventListener('beforeunload', stay);
    await connected();
    if (--waiting === 0) removeEventListener('beforeunload', stay);
  }
}

/** The browser asks before it leaves the page. */
function stay(event: Event): void {
  event.preventDefault();
}
