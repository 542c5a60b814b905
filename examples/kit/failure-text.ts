/** The words of a function's `throw new Error(…)`, without the request's id and the stack that developers get with them. */
export function failureText(caught: unknown): string {
  const message = caught instanceof Error ? caught.message : String(caught);
  return /Uncaught (?:\w*Error: )?(.+)/.exec(message)?.[1] ?? message.split('\n')[0] ?? message;
}
