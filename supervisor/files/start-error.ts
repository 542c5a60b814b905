/** The server cannot start as configured: one sentence for the operator, without a stack trace. */
export class StartError extends Error {
  override name = 'StartError';
}
