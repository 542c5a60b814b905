/** The live queries of a tenant, native ones and those of functions, the most expensive first. */
import {Buffer} from 'node:buffer';
import type {ListedQueries, ListedQuery} from '../../../engine/live/listed-query.ts';
import type {Evaluated} from '../../../engine/live/live-figures.ts';
import {rangeText} from '../../../engine/live/range-text.ts';
import {notAListCursor} from '../../../engine/scheduler/list-page.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {
  FoundLiveQuery,
  ListedLiveQuery,
  LiveEvaluation,
  LiveQueryPage,
} from '../../../shared/protocol/live-list.ts';
import {LIVE_LIST_DEFAULT, LIVE_LISTED_CHARS_MAX} from '../limits.ts';

/** A position in the order of the list. */
type Place = {readonly ms: number; readonly id: string};
type Entry = {readonly query: ListedQuery; readonly of: ListedQueries};

export class LiveList {
  readonly #sources: () => readonly ListedQueries[];

  constructor(sources: () => readonly ListedQueries[]) {
    this.#sources = sources;
  }

  /** @throws op.invalid_input 400 */
  async page({limit = LIVE_LIST_DEFAULT, after}: {limit?: number; after?: string}): Promise<LiveQueryPage> {
    const from = after === undefined ? null : placeFrom(after);
    /** One more than the page. */
    const first: Entry[] = [];
    let total = 0;
    for (const entry of this.#entries()) {
      total++;
      const place = placeOf(entry);
      if (from !== null && compare(place, from) <= 0) continue;
      if (first.length > limit && compare(place, placeOf(first.at(-1)!)) > 0) continue;
      insert(first, entry);
      if (first.length > limit + 1) first.pop();
    }
    const shown = first.slice(0, limit);
    const last = shown.at(-1);
    const next = first.length > limit && last !== undefined ? cursorOf(placeOf(last)) : null;
    const queries = await Promise.all(shown.map(entry => listed(entry, LIVE_LISTED_CHARS_MAX)));
    return {queries, total, next_cursor: next};
  }

  /** @throws op.not_found 404 */
  async find(id: string): Promise<FoundLiveQuery> {
    for (const entry of this.#entries()) {
      if (entry.query.id !== id) continue;
      const query = await listed(entry, Number.POSITIVE_INFINITY);
      return {query, recent: entry.query.figures.newest.map(shown).reverse()};
    }
    throw new ServiceError(
      'op.not_found',
      `there is no live query ${JSON.stringify(id.slice(0, 60))}; it may have ended`,
    );
  }

  *#entries(): Generator<Entry, void, void> {
    for (const of of this.#sources()) for (const query of of.listed()) yield {query, of};
  }
}

async function listed({query, of}: Entry, charsMax: number): Promise<ListedLiveQuery> {
  const {id, subject, identities, resultBytes, isCurrent, figures} = query;
  const {type} = subject;
  return {
    id,
    type,
    query: type === 'query' && fits(JSON.stringify(subject.query), charsMax) ? subject.query : null,
    function: type === 'function' ? subject.path : null,
    kind: type === 'function' ? subject.kind : null,
    args: type === 'function' && fits(subject.args, charsMax) ? JSON.parse(subject.args) : null,
    holders: await query.holders(),
    identities,
    result_bytes: resultBytes,
    current: isCurrent,
    since: figures.sinceMs,
    last_evaluated_at: figures.lastMs,
    time_ms: rounded(figures.ms),
    evaluations: {...figures.counts, skipped: figures.skipped(of.commits)},
  };
}

function fits(text: string, charsMax: number): boolean {
  return text.length <= charsMax;
}

function shown({atMs, ms, outcome, cause, range}: Evaluated): LiveEvaluation {
  const written = cause.cause === 'written' ? cause : null;
  return {
    at: atMs,
    time_ms: rounded(ms),
    result: outcome,
    cause: cause.cause,
    sequence: written?.sequence ?? null,
    table: written?.table ?? null,
    document: written?.id ?? null,
    index: range?.index ?? null,
    range: range === null ? null : rangeText(range),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function placeOf({query: {id, figures}}: Entry): Place {
  return {ms: rounded(figures.ms), id};
}

/** Below 0: `a` comes first. */
function compare(a: Place, b: Place): number {
  if (a.ms !== b.ms) return b.ms - a.ms;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** @param sorted by `compare` */
function insert(sorted: Entry[], entry: Entry): void {
  const place = placeOf(entry);
  let at = sorted.length;
  while (at > 0 && compare(place, placeOf(sorted[at - 1]!)) < 0) at--;
  sorted.splice(at, 0, entry);
}

function cursorOf({ms, id}: Place): string {
  return Buffer.from(JSON.stringify([ms, id])).toString('base64url');
}

/** @throws op.invalid_input 400 */
function placeFrom(cursor: string): Place {
  try {
    const [ms, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    if (typeof ms === 'number' && typeof id === 'string') return {ms, id};
  } catch (caught) {
    if (!(caught instanceof SyntaxError) && !(caught instanceof TypeError)) throw caught;
  }
  throw notAListCursor();
}
