/** Code that is of no module, the body of an async function of `args`, as both runtimes of sandboxes compile it. */

/** Its code as stack traces name it. */
export const SANDBOX_FILE = 'sandbox.js';
/** The first line is ours. */
export const LINES_BEFORE = 1;

/** A script whose value is that function, unless the code is none. */
export function asFunction(code: string): string {
  return `(async function (args) {'use strict';\n${code}\n})`;
}

/** @throws SyntaxError for what is more than a body, or something else */
export function notABody(): SyntaxError {
  return new SyntaxError('the code is not the body of a function');
}
