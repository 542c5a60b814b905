/** Wraps code that belongs to no module as the body of an async function of `args`, for both runtimes of sandboxes. */

/** File name of the code in stack traces. */
export const SANDBOX_FILE = 'sandbox.js';
/** Lines that the wrapper adds before the code. */
export const LINES_BEFORE = 1;

/** A script whose value is that function, unless the code is not valid. */
export function asFunction(code: string): string {
  return `(async function (args) {'use strict';\n${code}\n})`;
}

/** @throws SyntaxError if the code is more than a body, or something else */
export function notABody(): SyntaxError {
  return new SyntaxError('the code is not the body of a function');
}
