/** Entries of a log: the newest ones in memory, and a filter of them. */

import {CONSOLE_LEVELS, type ConsoleLevel} from '../../../shared/console-levels.ts';
import {invalid} from '../../../shared/errors.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';

/** `text`: its line; null: it is made when the entry is read. */
type StoredEntry<Entry> = {entry: Entry; text: string | null};

/** Characters that count for an entry whose line is not made: more than it has without lines and an error. */
export const UNREAD_ENTRY_CHARS = 512;

/** Holds the newest added entries, limited in number and in characters; at least one is always kept. */
export class NewestEntries<Entry> {
  readonly #entriesMax: number;
  readonly #charsMax: number;
  /** A ring: the oldest is at `#oldest`. */
  readonly #kept: (StoredEntry<Entry> | null)[] = [];
  #oldest = 0;
  #count = 0;
  #chars = 0;
  #hasForgotten = false;

  constructor(entriesMax: number, charsMax: number) {
    this.#entriesMax = entriesMax;
    this.#charsMax = charsMax;
  }

  /** @param text its JSON line; null: it is made when the entry is read, which is seldom */
  add(entry: Entry, text: string | null): void {
    if (this.#count === this.#entriesMax) this.#forget();
    if (this.#entriesMax === 0) return;
    this.#kept[(this.#oldest + this.#count) % this.#entriesMax] = {entry, text};
    this.#count++;
    this.#chars += charsOf(text);
    while (this.#chars > this.#charsMax && this.#count > 1) this.#forget();
  }

  /** Oldest first. */
  entries(): {entry: Entry; text: string}[] {
    return this.#newest(this.#count);
  }

  /** The newest `count` as JSON lines, oldest first. */
  text(count: number): string {
    return this.#newest(count)
      .map(({text}) => text)
      .join('');
  }

  /**
   * The newest `count` as JSON lines, oldest first. @param earlier entries from before those added here, oldest first:
   * read if the ones held here are too few and none was forgotten
   */
  async history(count: number, earlier: () => AsyncIterable<{entry: Entry; text: string}>): Promise<string> {
    const missing = Math.min(count, this.#entriesMax) - this.#count;
    if (missing <= 0 || this.#hasForgotten) return this.text(count);
    const before = new NewestEntries<Entry>(missing, this.#charsMax);
    for await (const {entry, text} of earlier()) before.add(entry, text);
    return before.text(missing) + this.text(count);
  }

  #newest(count: number): {entry: Entry; text: string}[] {
    const newest = Math.min(count, this.#count);
    return Array.from({length: newest}, (_, i) => {
      const at = (this.#oldest + this.#count - newest + i) % this.#entriesMax;
      const {entry, text} = this.#kept[at]!;
      return {entry, text: text ?? lineOf(entry)};
    });
  }

  #forget(): void {
    this.#hasForgotten = true;
    if (this.#count === 0) return;
    this.#chars -= charsOf(this.#kept[this.#oldest]!.text);
    this.#kept[this.#oldest] = null;
    this.#oldest = (this.#oldest + 1) % this.#entriesMax;
    this.#count--;
  }
}

/** An entry as its line in logs. */
export function lineOf(entry: unknown): string {
  return `${JSON.stringify(entry)}\n`;
}

function charsOf(text: string | null): number {
  return text === null ? UNREAD_ENTRY_CHARS : text.length;
}

/* ── filter ── */

/** A member that is null lets every entry pass. */
export type LogFilter = {
  requestId: string | null;
  traceId: string | null;
  /** Range of the time at which it ended, epoch milliseconds, both ends included. */
  sinceMs: number | null;
  untilMs: number | null;
  outcome: LogEntry['outcome'] | null;
  path: string | null;
  /** In its path, error or lines, in any case. */
  text: string | null;
  /** It has a line of this level; of `error` also if it failed. */
  level: ConsoleLevel | null;
  /** It ended before the entry with this end and number. */
  before: {readonly endedMs: number; readonly n: number} | null;
};

export const EVERY_ENTRY: LogFilter = {
  requestId: null,
  traceId: null,
  sinceMs: null,
  untilMs: null,
  outcome: null,
  path: null,
  text: null,
  level: null,
  before: null,
};

/** @throws op.invalid_input 400 */
export function readFilter(parameters: URLSearchParams): LogFilter {
  return {
    requestId: parameters.get('request_id'),
    traceId: parameters.get('trace_id'),
    sinceMs: moment(parameters, 'since'),
    untilMs: moment(parameters, 'until'),
    outcome: outcome(parameters),
    path: parameters.get('path'),
    text: parameters.get('text')?.toLowerCase() ?? null,
    level: level(parameters),
    before: position(parameters),
  };
}

export function matches(filter: LogFilter, entry: LogEntry): boolean {
  const {requestId, traceId, sinceMs, untilMs, outcome, path, text, level, before} = filter;
  const endedMs = entry.at + entry.duration_ms;
  return (
    (requestId === null || entry.request_id === requestId) &&
    // Entries of earlier versions are each their own trace.
    (traceId === null || (entry.trace_id ?? entry.request_id) === traceId) &&
    (sinceMs === null || endedMs >= sinceMs) &&
    (untilMs === null || endedMs <= untilMs) &&
    (outcome === null || entry.outcome === outcome) &&
    (path === null || entry.path === path) &&
    (before === null || endedMs < before.endedMs || (endedMs === before.endedMs && entry.n < before.n)) &&
    (level === null || hasLevel(entry, level)) &&
    (text === null || hasText(entry, text))
  );
}

function hasLevel({outcome, lines}: LogEntry, level: ConsoleLevel): boolean {
  const mark = `[${level.toUpperCase()}]`;
  return (level === 'error' && outcome === 'error') || lines.some(line => line.startsWith(mark));
}

/** @param text in lower case */
function hasText({path, error, lines}: LogEntry, text: string): boolean {
  return [path, error ?? '', ...lines].some(one => one.toLowerCase().includes(text));
}

/** It succeeded and wrote no line. */
export function isSilent({outcome, lines}: LogEntry): boolean {
  return outcome === 'success' && lines.length === 0;
}

function moment(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  const ms = /^\d{1,16}$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isFinite(ms)) return ms;
  throw invalid(
    `${name} must be epoch milliseconds or a time like 2026-01-31T12:00:00Z, not ${JSON.stringify(text.slice(0, 100))}`,
  );
}

function outcome(parameters: URLSearchParams): LogEntry['outcome'] | null {
  const text = parameters.get('outcome');
  if (text === null || text === 'success' || text === 'error') return text;
  throw invalid(`outcome must be success or error, not ${JSON.stringify(text.slice(0, 100))}`);
}

function level(parameters: URLSearchParams): ConsoleLevel | null {
  const text = parameters.get('level');
  const known = CONSOLE_LEVELS.find(one => one === text);
  if (text === null || known !== undefined) return known ?? null;
  throw invalid(`level must be one of ${CONSOLE_LEVELS.join(', ')}, not ${JSON.stringify(text.slice(0, 100))}`);
}

/** `{at + duration_ms}-{n}` of an entry. */
function position(parameters: URLSearchParams): LogFilter['before'] {
  const text = parameters.get('before');
  if (text === null) return null;
  const [, ended, n] = /^(\d{1,16}(?:\.\d{1,20})?)-(\d{1,15})$/.exec(text) ?? [];
  if (ended !== undefined) return {endedMs: Number(ended), n: Number(n)};
  throw invalid("before must be an entry's at + duration_ms, a hyphen and its n");
}
