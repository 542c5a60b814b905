/** A request to a store has failed. The code says what can be done about it. */
export type StoreCode =
  /** It does not answer, or answers with an error of its own: try again later. */
  | 'unavailable'
  /** Its credentials or permissions do not allow the request. */
  | 'refused'
  /** It has no space left. */
  | 'no_space'
  | 'timeout'
  /** An object with this name is there already. */
  | 'exists';

export class StoreError extends Error {
  override name = 'StoreError';
  readonly code: StoreCode;

  constructor(code: StoreCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A URL names no store. The message is for the user. */
export class StoreUrlError extends Error {
  override name = 'StoreUrlError';
}
