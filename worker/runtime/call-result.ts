/** The result of a call: for its caller, and for the log. */

import type {FunctionEntry, LogEntry} from '../../shared/protocol/functions.ts';
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
