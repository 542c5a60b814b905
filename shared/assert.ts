/**
 * Assertions state what our own code guarantees. A failure is a bug, not bad input: it is never caught, so it ends the
 * process it happened in (a tenant's worker is then restarted from disk by the supervisor).
 */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

/** Throws unless `condition` holds. One condition a call, so that the message names what broke. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The end of a switch over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
