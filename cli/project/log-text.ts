/** Formats one finished execution for `svc logs`. */
import type {LogEntry} from '../../shared/protocol/functions.ts';
import {printable} from '../printable.ts';

/**
 * @param line JSON of LogEntry. @param showsAll includes successes without log lines. @returns null: nothing to show
 */
export function logText(line: string, showsAll: boolean): string | null {
  const {
    at,
    request_id: request,
    kind,
    path,
    outcome,
    duration_ms: durationMs,
    error,
    lines,
  } = JSON.parse(line) as LogEntry;
  if (outcome === 'success' && lines.length === 0 && !showsAll) return null;
  const time = new Date(at).toISOString().slice(11, 23);
  const head = `${time} ${KINDS[kind]}(${path}) ${outcome === 'success' ? 'ok' : 'failed'} in ${durationMs.toFixed(0)} ms${outcome === 'success' ? '' : ` [${request}]`}`;
  const more = error === null ? lines : [...lines, error.trimEnd()];
  return printable([head, ...more.map(text => text.replaceAll(/^/gm, '  '))].join('\n'));
}

const KINDS: Record<LogEntry['kind'], string> = {
  query: 'Q',
  paginatedQuery: 'Q',
  mutation: 'M',
  action: 'A',
  httpAction: 'HTTP',
};
