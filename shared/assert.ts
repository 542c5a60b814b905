/**
 * Assertions state what our own code guarantees. A failure is a bug, not bad input. It is never caught, so it ends the
 * process in which it happens; the supervisor then restarts a tenant's worker from disk.
 */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

/** Throws unless `condition` holds. One condition per call, so that the message names what broke. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The end of a switch over a union: the compiler proves that it is unreachable. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
