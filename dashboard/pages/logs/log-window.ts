/**
 * The executions that the page of logs holds, the newest first. Entries that arrive while the reader holds the list
 * wait and are counted. The window is limited: entries are dropped at the end that the reader is not at.
 */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {LOG_ENTRIES_MAX} from '../../limits.ts';

export type LogEntry = AnswerOf<'logs.read'>;

export type LogWindow = {
  /** The newest first. */
  readonly entries: readonly LogEntry[];
  /** Those that arrived while the list was held, the oldest first; of many, the newest ones. */
  readonly waiting: readonly LogEntry[];
  /** All that arrived while the list was held. */
  readonly waitingCount: number;
  /** The server may have entries from before these. */
  readonly hasOlder: boolean;
  /** The newest entries were dropped while the reader went back in time. */
  readonly isDetached: boolean;
  /** The end of the newest entry that was ever here. */
  readonly newestMs: number;
};

export const NO_ENTRIES: LogWindow = {
  entries: [],
  waiting: [],
  waitingCount: 0,
  hasOlder: false,
  isDetached: false,
  newestMs: Number.NEGATIVE_INFINITY,
};

/** Numbers begin again with the tenant's worker. */
export function keyOf({n, at, request_id: request}: LogEntry): string {
  return `${n} ${at} ${request}`;
}

function endOf({at, duration_ms: ms}: LogEntry): number {
  return at + ms;
}

/** The position of an entry, for `before`. */
export function positionOf(entry: LogEntry): string {
  return `${endOf(entry)}-${entry.n}`;
}

/** @param news the oldest first. @param isHeld the reader has paused, or looks at older entries */
export function withNews(
  before: LogWindow,
  news: readonly LogEntry[],
  isHeld: boolean,
  most = LOG_ENTRIES_MAX,
): LogWindow {
  if (news.length === 0) return before;
  const newestMs = Math.max(before.newestMs, ...news.map(endOf));
  if (isHeld || before.isDetached) {
    const waiting = [...before.waiting, ...news].slice(-most);
    return {...before, waiting, waitingCount: before.waitingCount + news.length, newestMs};
  }
  const {entries, hasOlder} = released(before, most);
  const all = [...news.toReversed(), ...entries];
  return {...NO_ENTRIES, entries: all.slice(0, most), hasOlder: hasOlder || all.length > most, newestMs};
}

/**
 * A (new) connection begins with a history, which can have entries that are here already.
 * @param history the oldest first
 */
export function withHistory(
  before: LogWindow,
  history: readonly LogEntry[],
  isHeld: boolean,
  most = LOG_ENTRIES_MAX,
): LogWindow {
  const known = new Set([...before.entries, ...before.waiting].map(keyOf));
  const {newestMs, isDetached} = before;
  const isNew = (entry: LogEntry) => (isDetached ? endOf(entry) > newestMs : endOf(entry) >= newestMs);
  const news = history.filter(entry => isNew(entry) && !known.has(keyOf(entry)));
  const isGap = known.size > 0 && news.length === history.length;
  // Entries between those here and the history are missing, unless the reader is elsewhere anyway.
  const base = isGap && !isHeld && !isDetached ? NO_ENTRIES : before;
  const after = withNews(base, news, isHeld, most);
  return {...after, hasOlder: after.hasOlder || history.length > 0};
}

/** The reader continues at the newest entries. A detached window has to be read again instead. */
export function released(before: LogWindow, most = LOG_ENTRIES_MAX): LogWindow {
  const {entries, waiting, waitingCount, hasOlder, newestMs} = before;
  if (waitingCount === 0) return before;
  const isGap = waitingCount > waiting.length;
  const all = [...waiting.toReversed(), ...(isGap ? [] : entries)];
  return {...NO_ENTRIES, entries: all.slice(0, most), hasOlder: hasOlder || isGap || all.length > most, newestMs};
}

/** @param page entries from before the last one here, the oldest first; empty: there are none */
export function withOlder(before: LogWindow, page: readonly LogEntry[], most = LOG_ENTRIES_MAX): LogWindow {
  const known = new Set(before.entries.map(keyOf));
  const all = [...before.entries, ...page.toReversed().filter(entry => !known.has(keyOf(entry)))];
  const isDetached = before.isDetached || all.length > most;
  return {...before, entries: all.slice(-most), hasOlder: page.length > 0, isDetached};
}
