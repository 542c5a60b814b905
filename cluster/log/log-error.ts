/** A tenant's log cannot be continued from where its reader is. The code is for programs, the message for people. */
export type LogCode =
  /** A record breaks a rule of the format, or a part of it is missing or changed. */
  | 'damaged'
  /** The records after the position were removed: a base is needed. */
  | 'trimmed'
  /** The position is of another history than the log. */
  | 'diverged'
  /** The log ends before the position: it has lost records, or the read was stale. */
  | 'behind';

export class LogError extends Error {
  override name = 'LogError';
  readonly code: LogCode;

  constructor(code: LogCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
