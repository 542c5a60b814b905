/** A `crypto.subtle` call of user code that cannot be carried out; `name` is the name of the DOMException it gets. */
export class CryptoRefusal extends Error {
  constructor(
    name: 'OperationError' | 'DataError' | 'NotSupportedError' | 'InvalidAccessError' | 'SyntaxError',
    message: string,
  ) {
    super(message);
    this.name = name;
  }
}
