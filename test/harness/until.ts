/** Waits for a condition that only shows by looking. */
import {setTimeout as delay} from 'node:timers/promises';

const POLL_EVERY_MS = 20;
/** Below a test's own limit of a minute. A busy machine has taken 30 s for a takeover. */
const GIVE_UP_MS = 45_000;

/** The first result of `poll` that is neither null, undefined nor false. @throws after 45 s, naming `what` */
export async function until<T>(
  what: string,
  poll: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + GIVE_UP_MS;
  for (;;) {
    const found = await poll();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`gave up waiting for ${what}`);
    await delay(POLL_EVERY_MS);
  }
}
