/** The filter of the Journal page, in the URL. */
import {useSearchParams} from 'wouter';
import {JOURNAL_KINDS} from '../../../shared/journal-kinds.ts';
import type {QueryOf} from '../../../shared/operation-types.ts';

const NAMES = ['document', 'table', 'kind', 'request', 'range', 'from', 'to'] as const;

/** As in the URL; empty: any. `from` and `to` are epoch milliseconds, and count if there is no `range`. */
export type JournalFilter = Readonly<Record<(typeof NAMES)[number], string>>;
type Range = {readonly from?: number; readonly to?: number};

export const NO_FILTER = Object.fromEntries(NAMES.map(name => [name, ''])) as JournalFilter;

const HOUR = 3_600_000;
export const RANGES: readonly (readonly [id: string, title: string, ms: number])[] = [
  ['1h', 'Last hour', HOUR],
  ['24h', 'Last 24 hours', 24 * HOUR],
  ['7d', 'Last 7 days', 7 * 24 * HOUR],
];

export function useFilter(): [filter: JournalFilter, change: (part: Partial<JournalFilter>) => void] {
  const [search, setSearch] = useSearchParams();
  const filter = Object.fromEntries(NAMES.map(name => [name, search.get(name) ?? ''])) as JournalFilter;
  const change = (part: Partial<JournalFilter>) => {
    const after = {...filter, ...part};
    setSearch(new URLSearchParams(NAMES.flatMap(name => (after[name] === '' ? [] : [[name, after[name]]]))), {
      replace: true,
    });
  };
  return [filter, change];
}

/** Whole minutes, so that requests of the same minute share an answer. */
export function rangeOf({range, from, to}: JournalFilter, nowMs: number): Range {
  const last = RANGES.find(([id]) => id === range);
  if (last !== undefined) return {from: Math.floor((nowMs - last[2]) / 60_000) * 60_000};
  return {...(isMs(from) ? {from: Number(from)} : {}), ...(isMs(to) ? {to: Number(to)} : {})};
}

/** A value that the URL has and the server would refuse is left out. */
export function queryOf(filter: JournalFilter, nowMs: number): QueryOf<'journal.page'> {
  const {document, table, request} = filter;
  const kind = JOURNAL_KINDS.find(known => known === filter.kind);
  return {
    ...rangeOf(filter, nowMs),
    ...(table === '' ? {} : {table}),
    ...(document === '' ? {} : {document}),
    ...(request === '' ? {} : {request_id: request}),
    ...(kind === undefined ? {} : {kind}),
  };
}

function isMs(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}
