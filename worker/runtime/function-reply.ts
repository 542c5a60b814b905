/** The reply of the function endpoints over HTTP, and how much of an error callers see. */
import type {CallResult} from './call-result.ts';

/** The error as it leaves a handler that does not catch it, with any class name. */
const INVALID_CURSOR = /^(?:Uncaught )?(?:\w*Error: )?InvalidCursor: /;

export type ReplyForm = {
  /** The caller learns that a function failed, but not why. */
  isRedacted: boolean;
  /** `json` returns special numbers as text; any other value returns `$float`. */
  format: string | undefined;
  /** Null: the reply does not contain versions. */
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
 * `[Request ID: x] Server Error`, followed by the error unless errors are redacted. A cursor of another query is
 * reported in any case, without details, because clients then start again with the first page.
 */
export function shownError(error: string, requestId: string, redactErrors: boolean): string {
  const head = `[Request ID: ${requestId}] Server Error`;
  if (!redactErrors) return `${head}\n${error}`;
  return INVALID_CURSOR.test(error) ? `${head}\nInvalidCursor` : head;
}

/**
 * The error that an action gets if a function that it called failed. The action can pass it on to its own caller, so if
 * errors are redacted it gets only the message: no stack, and no file names.
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
