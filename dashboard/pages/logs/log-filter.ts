/** The filter of the page of logs, from the URL to the parameters of the server, which does the filtering. */
import type {ConsoleLevel} from '../../../shared/console-levels.ts';
import type {QueryOf} from '../../../shared/operation-types.ts';

/** As in the URL; empty: any. */
export type LogFilter = {
  readonly text: string;
  readonly path: string;
  readonly level: string;
  readonly outcome: string;
  readonly request: string;
  /** A key of `RANGES`, or `between`. */
  readonly range: string;
  /** Local times of `between`, as `2026-01-31T12:00`. */
  readonly from: string;
  readonly to: string;
};

type LogQuery = QueryOf<'logs.read'>;

/** Written out here: their own modules would bring more into the page. */
export const LEVELS: readonly ConsoleLevel[] = ['debug', 'log', 'info', 'warn', 'error'];
const OUTCOMES = ['success', 'error'] as const;

const MINUTE = 60_000;
export const RANGES: readonly (readonly [id: string, title: string, ms: number])[] = [
  ['15m', 'Last 15 minutes', 15 * MINUTE],
  ['1h', 'Last hour', 60 * MINUTE],
  ['24h', 'Last 24 hours', 24 * 60 * MINUTE],
  ['7d', 'Last 7 days', 7 * 24 * 60 * MINUTE],
];

/** A value that the URL has and the server would refuse is left out. @param nowMs the end of a range like `1h` */
export function queryOf(filter: LogFilter, nowMs: number): LogQuery {
  const {text, path, request, range} = filter;
  const level = LEVELS.find(one => one === filter.level);
  const outcome = OUTCOMES.find(one => one === filter.outcome);
  const last = RANGES.find(([id]) => id === range);
  const since = last === undefined ? momentOf(filter, 'from') : String(nowMs - last[2]);
  const until = last === undefined ? momentOf(filter, 'to') : null;
  return {
    ...(text === '' ? {} : {text}),
    ...(path === '' ? {} : {path}),
    ...(request === '' ? {} : {request_id: request}),
    ...(level === undefined ? {} : {level}),
    ...(outcome === undefined ? {} : {outcome}),
    ...(since === null ? {} : {since}),
    ...(until === null ? {} : {until}),
  };
}

function momentOf({range, from, to}: LogFilter, end: 'from' | 'to'): string | null {
  if (range !== 'between') return null;
  const ms = new Date(end === 'from' ? from : to).getTime();
  return Number.isFinite(ms) ? String(ms) : null;
}

export function isFiltered(filter: LogFilter): boolean {
  return Object.values(filter).some(value => value !== '');
}
