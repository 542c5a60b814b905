/** What user code asked of `crypto.subtle` cannot be done; `name` is that of the DOMException it sees. */
export class CryptoRefusal extends Error {
  constructor(
    name: 'OperationError' | 'DataError' | 'NotSupportedError' | 'InvalidAccessError' | 'SyntaxError',
    message: string,
  ) {
    super(message);
    this.name = name;
  }
}
