/** The server cannot start as it was asked to: one sentence for the operator, no stack. */
export class StartError extends Error {
  override name = 'StartError';
}
