/** An error in a database call of user code: the realm throws it as its own error, and user code can catch it. */
export class DatabaseFault extends Error {
  /** The name of the error for user code. */
  readonly kind: string;

  constructor(message: string, kind = 'Error') {
    super(message);
    this.kind = kind;
  }
}

export function undecodable(call: 'get' | 'patch' | 'delete'): DatabaseFault {
  return new DatabaseFault(`Invalid argument 'id' for 'db.${call}': Unable to decode ID`);
}
