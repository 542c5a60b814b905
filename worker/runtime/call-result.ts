/** The result of a call: for its caller, for the log, as the reply over HTTP, and how much of an error callers see. */

import type {FunctionEntry, LogEntry} from '../../shared/protocol/functions.ts';
import type {KeptResult} from '../ipc/shared-results.ts';
import {CallError, checkReturned, type LiveDeployment, shownPath} from './call.ts';
import type {Outcome} from './execution.ts';
import {RETURNED_BY, type RealmError} from './guest/host-call.ts';
import type {SourcePositions} from './source-positions.ts';

export type CallResult = CallLines &
  (
    | {
        ok: true;
        value: string;
        /** For a query: the newest commit in what it read. */
        sequence?: number;
        /** For a query: it is cached until it changes. */
        kept?: KeptResult;
      }
    /** `error` is the complete description, with a stack if user code threw; clients can be shown less. */
    | {ok: false; error: string}
  );

export type CallLines = {
  /** For the caller, including lines of the functions that it called. */
  lines: string[];
  /** For its log entry: only its own lines. */
  own: string[];
};

export const NO_LINES: CallLines = {lines: [], own: []};

/** A result that does not match the declared type fails the function, and is reported with the lines it wrote. */
export function finished(live: LiveDeployment, entry: FunctionEntry, outcome: Outcome, lines: CallLines): CallResult {
  const reported = inSources(live.positions, lines);
  if (!outcome.ok)
    return {ok: false, error: live.positions.describe(withFile(live, entry, outcome.error)), ...reported};
  try {
    checkReturned(live.table, entry, outcome.value);
  } catch (caught) {
    if (!(caught instanceof CallError)) throw caught;
    return {ok: false, error: caught.message, ...reported};
  }
  return {ok: true, value: outcome.value, ...reported};
}

/** For a returned value that is not valid: adds the file of the function that returned it. */
function withFile({positions}: LiveDeployment, entry: FunctionEntry, error: RealmError): RealmError {
  if (!error.message.endsWith(RETURNED_BY + shownPath(entry.path))) return error;
  return {...error, message: `${error.message} (${positions.fileOf(entry.module)})`};
}

/** Maps the stacks of logged errors to the files that their author knows. */
export function inSources(positions: SourcePositions, {lines, own}: CallLines): CallLines {
  const shown = positions.inLines(lines);
  return {lines: shown, own: own === lines ? shown : positions.inLines(own)};
}

/** The part of a log entry that describes how it ended. */
export function ended(
  result: CallResult,
  durationMs: number,
): Pick<LogEntry, 'outcome' | 'duration_ms' | 'error' | 'lines'> {
  return {
    outcome: result.ok ? 'success' : 'error',
    duration_ms: Math.max(0, durationMs),
    error: result.ok ? null : result.error,
    lines: result.own,
  };
}

/* ── the reply over HTTP ── */

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
