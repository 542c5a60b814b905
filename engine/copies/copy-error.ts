/** A copy cannot be used: it was not completed, or its files have changed. A new one has to be made from a base. */
export class CopyError extends Error {
  override name = 'CopyError';
}
