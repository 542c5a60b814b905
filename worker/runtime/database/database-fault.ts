/** What a database call of user code did wrong: the realm throws it as an error of its own, and user code may catch it. */
export class DatabaseFault extends Error {
  /** The name of the error user code sees. */
  readonly kind: string;

  constructor(message: string, kind = 'Error') {
    super(message);
    this.kind = kind;
  }
}

export function undecodable(call: 'get' | 'patch' | 'delete'): DatabaseFault {
  return new DatabaseFault(`Invalid argument 'id' for 'db.${call}': Unable to decode ID`);
}
