/** Entries of a log: the newest ones in memory, and a filter of them. */
import {invalid} from '../../../shared/errors.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';

/** Holds the newest added entries, limited in number and in characters; at least one is always kept. */
type StoredEntry<Entry> = {entry: Entry; text: string};

export class NewestEntries<Entry> {
  readonly #entriesMax: number;
  readonly #charsMax: number;
  readonly #kept: StoredEntry<Entry>[] = [];
  #chars = 0;
  #hasForgotten = false;

  constructor(entriesMax: number, charsMax: number) {
    this.#entriesMax = entriesMax;
    this.#charsMax = charsMax;
  }

  add(entry: Entry, text: string): void {
    this.#kept.push({entry, text});
    this.#chars += text.length;
    while (this.#kept.length > this.#entriesMax || (this.#chars > this.#charsMax && this.#kept.length > 1)) {
      this.#chars -= this.#kept.shift()!.text.length;
      this.#hasForgotten = true;
    }
  }

  entries(): readonly StoredEntry<Entry>[] {
    return this.#kept;
  }

  /** The newest `count` as JSON lines, oldest first. */
  text(count: number): string {
    return this.#kept
      .slice(Math.max(0, this.#kept.length - count))
      .map(({text}) => text)
      .join('');
  }

  /**
   * The newest `count` as JSON lines, oldest first. @param earlier entries from before those added here, oldest first:
   * read if the ones held here are too few and none was forgotten
   */
  async history(count: number, earlier: () => AsyncIterable<StoredEntry<Entry>>): Promise<string> {
    const missing = Math.min(count, this.#entriesMax) - this.#kept.length;
    if (missing <= 0 || this.#hasForgotten) return this.text(count);
    const before = new NewestEntries<Entry>(missing, this.#charsMax);
    for await (const {entry, text} of earlier()) before.add(entry, text);
    return before.text(missing) + this.text(count);
  }
}

/* ── filter ── */

/** A member that is null lets every entry pass. */
export type LogFilter = {
  requestId: string | null;
  /** Range of the time at which it ended, epoch milliseconds, both ends included. */
  sinceMs: number | null;
  untilMs: number | null;
  outcome: LogEntry['outcome'] | null;
  path: string | null;
};

export const EVERY_ENTRY: LogFilter = {requestId: null, sinceMs: null, untilMs: null, outcome: null, path: null};

/** @throws op.invalid_input 400 */
export function readFilter(parameters: URLSearchParams): LogFilter {
  return {
    requestId: parameters.get('request_id'),
    sinceMs: moment(parameters, 'since'),
    untilMs: moment(parameters, 'until'),
    outcome: outcome(parameters),
    path: parameters.get('path'),
  };
}

export function matches({requestId, sinceMs, untilMs, outcome, path}: LogFilter, entry: LogEntry): boolean {
  const endedMs = entry.at + entry.duration_ms;
  return (
    (requestId === null || entry.request_id === requestId) &&
    (sinceMs === null || endedMs >= sinceMs) &&
    (untilMs === null || endedMs <= untilMs) &&
    (outcome === null || entry.outcome === outcome) &&
    (path === null || entry.path === path)
  );
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
