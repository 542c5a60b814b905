/** A restore is refused, or ended without a file. The code is for programs, the message for people. */
export type RestoreCode =
  /** A copy is not what the repository says it is. The message names it. */
  | 'damaged'
  /** The pages are those that were copied, but the tenant's file that they make has faults. */
  | 'unsound'
  /** The file has no such table. */
  | 'no_table'
  /** Something is where the file is to be. */
  | 'exists'
  /** The disk has no space for the file. That says nothing about the copy. */
  | 'no_space';

export class RestoreError extends Error {
  override name = 'RestoreError';
  readonly code: RestoreCode;
  /** The name of the object of the repository that is at fault. */
  readonly object: string | null;

  constructor(code: RestoreCode, message: string, options?: ErrorOptions & {object?: string}) {
    super(message, options);
    this.code = code;
    this.object = options?.object ?? null;
  }
}
