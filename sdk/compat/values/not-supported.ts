/** What libraries for Convex import and svc does not have: it can be imported and named, and fails by name when it is used. */

/** Errors are plain. Nothing is an instance of it; making one fails. */
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
