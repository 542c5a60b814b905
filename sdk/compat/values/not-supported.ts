/**
 * Exports that libraries for Convex import and svc does not support. They can be imported and named, and throw an error
 * that names them when constructed.
 */

/** Never an instance: functions fail with plain errors. @throws Error when constructed */
export class ConvexError extends Error {
  constructor() {
    super();
    throw new Error('ConvexError is not supported: return a value for what callers are to tell apart');
  }
}

export class CommitTsPlaceholder {
  constructor() {
    throw new Error('CommitTsPlaceholder is not supported');
  }
}
