/** What callers over HTTP are told of a call: the reply of the function endpoints, and how much of an error they see. */
import type {CallResult} from './call-result.ts';

/** As it leaves a handler that does not catch it, in whatever class of error. */
const INVALID_CURSOR = /^(?:Uncaught )?(?:\w*Error: )?InvalidCursor: /;

export type ReplyForm = {
  /** The caller learns that a function failed, but not why. */
  isRedacted: boolean;
  /** `json` shows special numbers as text, anything else as `$float`. */
  format: string | undefined;
  /** Null: the reply says nothing of versions. */
  timeline: string | null;
};

export function functionReply(
  result: CallResult,
  requestId: string,
  {isRedacted, format, timeline}: ReplyForm,
): string {
  const lines = isRedacted || result.lines.length === 0 ? '' : `,"logLines":${JSON.stringify(result.lines)}`;
  if (result.ok) {
    const value = format === 'json' ? plainJson(result.value) : result.value;
    const version =
      timeline === null || result.sequence === undefined
        ? ''
        : `,"version":{"timeline":"${timeline}","ts":${result.sequence}}`;
    return `{"status":"success","value":${value}${version}${lines}}`;
  }
  return `{"status":"error","errorMessage":${JSON.stringify(shownError(result.error, requestId, isRedacted))}${lines}}`;
}

/**
 * `[Request ID: x] Server Error`, and unless errors are redacted what happened. That a cursor is of another query is told in any case, and
 * no more than that: clients begin with the first page again.
 */
export function shownError(error: string, requestId: string, redactErrors: boolean): string {
  const head = `[Request ID: ${requestId}] Server Error`;
  if (!redactErrors) return `${head}\n${error}`;
  return INVALID_CURSOR.test(error) ? `${head}\nInvalidCursor` : head;
}

/**
 * What an action learns of the failure of a function it called. It may hand that on to its own caller, so where errors are
 * redacted it gets the message alone: no stack, no names of files.
 */
export function nestedError(error: string, redactErrors: boolean): string {
  if (!redactErrors) return error;
  return error.replace(/(?:\n {4}at [^\n]*)*\n?$/, '').replace(/^Uncaught (?:Error: )?/, '');
}

/** Wire text without `$float` wrappers: NaN and the infinities become strings of their names, -0 becomes `-0`. */
function plainJson(text: string): string {
  if (!text.includes('"$float"')) return text;
  return text.replace(/\{"\$float":"([A-Za-z0-9+/=]+)"\}/g, (_, base64: string) => {
    const value = Buffer.from(base64, 'base64').readDoubleLE(0);
    return Object.is(value, -0) ? '-0' : `"${value}"`;
  });
}
