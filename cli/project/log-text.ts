/** Formats finished executions for `svc logs`. */
import {callTree, linesOfTree} from '../../shared/call-tree.ts';
import type {LogEntry} from '../../shared/protocol/functions.ts';
import {printable} from '../printable.ts';

/**
 * @param line JSON of LogEntry. @param showsAll includes successes without log lines. @returns null: nothing to show
 */
export function logText(line: string, showsAll: boolean): string | null {
  const entry = JSON.parse(line) as LogEntry;
  const {at, request_id: request, outcome, lines} = entry;
  if (outcome === 'success' && lines.length === 0 && !showsAll) return null;
  const time = new Date(at).toISOString().slice(11, 23);
  return printable(`${time} ${withLines(entry, outcome === 'success' ? '' : ` [${request}]`)}`);
}

/** Executions of one trace as a tree: each with the time after the beginning, and its log lines below it. */
export function treeText(entries: readonly LogEntry[]): string {
  const tree = callTree(entries);
  const beganMs = Math.min(...tree.map(one => one.beganMs));
  const texts = linesOfTree(tree).map(({node: {entry, beganMs: atMs}, depth}) => {
    const after = `+${(atMs - beganMs).toFixed(0)} ms`;
    const of = entry === null ? 'an execution that has not ended, or is no longer in the log' : withLines(entry, '');
    const job = entry?.caller === 'job' ? 'job ' : '';
    return `${after} ${job}${of}`.replaceAll(/^/gm, '  '.repeat(depth));
  });
  return printable(texts.join('\n'));
}

function withLines({kind, path, outcome, duration_ms: ms, error, lines}: LogEntry, end: string): string {
  const head = `${KINDS[kind]}(${path}) ${outcome === 'success' ? 'ok' : 'failed'} in ${ms.toFixed(0)} ms${end}`;
  const more = error === null ? lines : [...lines, error.trimEnd()];
  return [head, ...more.map(text => text.replaceAll(/^/gm, '  '))].join('\n');
}

const KINDS: Record<LogEntry['kind'], string> = {
  query: 'Q',
  paginatedQuery: 'Q',
  mutation: 'M',
  action: 'A',
  httpAction: 'HTTP',
};
