import type {LogEntry} from '../../shared/protocol/functions.ts';

/** A stored execution of a query that succeeded, with other members where a test needs them. */
export function entryOf(of: Partial<LogEntry>): LogEntry {
  const rest = {
    request_id: 'r',
    path: 'a:b',
    kind: 'query',
    caller: 'client',
    outcome: 'success',
    error: null,
  } as const;
  return {n: 1, at: 0, duration_ms: 1, lines: [], ...rest, ...of};
}
