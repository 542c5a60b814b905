/**
 * Keeps a page's rows filled and up to date: requests more rows before the reader reaches the end of those in memory,
 * and moves one live query along with the visible rows.
 */
import type {Explained, QueryObject} from '../../../shared/protocol/queries.ts';
import {LIVE_MOVE_MS, LIVE_ROWS_MAX, MARK_MS, ROWS_AHEAD, ROWS_HELD_MAX, ROWS_PER_REQUEST} from './limits.ts';
import {type Doc, queryFrom, type RowKey, type TableQuery} from './row-order.ts';
import {merged, type RowWindow, type Slice, settled, sliceOf, trimmed, windowOf} from './row-window.ts';

export type RowReads = {
  read(query: QueryObject, signal: AbortSignal): Promise<{data: readonly Doc[]; explain: Explained | null}>;
  /** Calls back with the whole result now and after each change. @returns a function that ends it */
  live(query: QueryObject, onResult: (docs: readonly Doc[]) => void): () => void;
};

export type RowState = {
  readonly window: RowWindow;
  /** Counts jumps: rows of another one are not near those before. */
  readonly jump: number;
  /** Where a jump puts the reader. */
  readonly isFromEnd: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** How the first rows were read. */
  readonly explain: Explained | null;
};

type Visible = {readonly first: number; readonly last: number};

const MIDDLE = 2;

export class RowSource {
  readonly #query: TableQuery;
  readonly #reads: RowReads;
  readonly #listeners = new Set<() => void>();
  #state: RowState;
  #visible: Visible = {first: 0, last: 0};
  /** Ends the requests of the jump before. */
  #ended = new AbortController();
  #isReading = false;
  #live: {readonly from: RowKey | null; readonly stop: () => void} | null = null;
  #moveTimer: ReturnType<typeof setTimeout> | undefined;
  #markTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(query: TableQuery, reads: RowReads) {
    this.#query = query;
    this.#reads = reads;
    const window = windowOf(query.order, {from: null, to: null, docs: [], isLive: false});
    this.#state = {window, jump: 0, isFromEnd: false, isLoading: true, error: null, explain: null};
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): RowState => this.#state;

  /** @param from null: the first row, or the last rows if `isFromEnd` */
  jumpTo(from: RowKey | null, isFromEnd = false): void {
    this.#ended.abort();
    this.#ended = new AbortController();
    this.#isReading = true;
    this.#endLive();
    const {signal} = this.#ended;
    const needsPlan = this.#state.explain === null;
    this.#set({isLoading: true, error: null});
    const query = queryFrom(this.#query, from, ROWS_PER_REQUEST, isFromEnd);
    this.#reads.read(needsPlan ? {...query, explain: true} : query, signal).then(
      ({data, explain}) => {
        if (signal.aborted) return;
        this.#isReading = false;
        const slice = sliceOf(this.#query.order, from, data, ROWS_PER_REQUEST, {isBackward: isFromEnd});
        const window = windowOf(this.#query.order, slice);
        const {jump, explain: before} = this.#state;
        this.#visible = isFromEnd ? {first: data.length - 1, last: data.length - 1} : {first: 0, last: 0};
        this.#set({window, isLoading: false, jump: jump + 1, isFromEnd, explain: explain ?? before});
        this.#fill();
        this.#moveLive();
      },
      error => this.#failed(error, signal),
    );
  }

  /** The rows that the reader sees, as positions in the window. */
  show(first: number, last: number): void {
    if (this.#state.isLoading) return;
    this.#visible = {first, last};
    this.#fill();
    clearTimeout(this.#moveTimer);
    this.#moveTimer = setTimeout(() => this.#moveLive(), LIVE_MOVE_MS);
  }

  /** Reads what could not be read. The rows that are there stay. */
  retry(): void {
    if (this.#state.error === null) return;
    this.#set({error: null});
    this.#fill();
  }

  stop(): void {
    this.#ended.abort();
    this.#endLive();
    clearTimeout(this.#moveTimer);
    clearTimeout(this.#markTimer);
  }

  #set(changes: Partial<RowState>): void {
    this.#state = {...this.#state, ...changes};
    for (const listener of this.#listeners) listener();
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#isReading = false;
    this.#set({isLoading: false, error});
  }

  #fill(): void {
    const {rows, isAtStart, isAtEnd} = this.#state.window;
    if (this.#isReading || this.#state.error !== null) return;
    if (rows.length === 0) {
      if (!isAtStart || !isAtEnd) this.jumpTo(null);
      return;
    }
    const isDown = !isAtEnd && this.#visible.last >= rows.length - ROWS_AHEAD;
    const isUp = !isAtStart && this.#visible.first < ROWS_AHEAD;
    if (!isDown && !isUp) return;
    const isBackward = !isDown;
    const {key} = isBackward ? rows[0]! : rows.at(-1)!;
    const {signal} = this.#ended;
    // The row with the key is read again, so an answer with that row alone reaches the end.
    const limit = ROWS_PER_REQUEST + 1;
    this.#isReading = true;
    this.#reads.read(queryFrom(this.#query, key, limit, isBackward), signal).then(
      ({data}) => {
        if (signal.aborted) return;
        this.#isReading = false;
        this.#merge(sliceOf(this.#query.order, key, data, limit, {isBackward}));
        this.#fill();
      },
      error => this.#failed(error, signal),
    );
  }

  #merge(slice: Slice): void {
    const {window} = this.#state;
    const {first, last} = this.#visible;
    const focused = window.rows[Math.floor((first + last) / MIDDLE)];
    const after = merged(window, slice);
    if (after === window) return;
    const at = focused === undefined ? 0 : after.rows.findIndex(row => row.doc._id === focused.doc._id);
    const next = trimmed(after, ROWS_HELD_MAX, Math.max(at, 0));
    if (focused !== undefined && at !== -1) this.#follow(next, focused.doc._id, Math.floor((first + last) / MIDDLE));
    this.#set({window: next});
    if (next.rows.some(row => row.mark !== null)) this.#settleLater();
  }

  /** The visible rows stay the same ones when others are added or dropped before them. */
  #follow({rows}: RowWindow, id: string, before: number): void {
    const moved = rows.findIndex(row => row.doc._id === id) - before;
    const {first, last} = this.#visible;
    this.#visible = {first: first + moved, last: last + moved};
  }

  #settleLater(): void {
    clearTimeout(this.#markTimer);
    this.#markTimer = setTimeout(() => {
      this.#set({window: settled(this.#state.window)});
      this.#fill();
    }, MARK_MS);
  }

  /* ── the live query ── */

  #endLive(): void {
    this.#live?.stop();
    this.#live = null;
  }

  #moveLive(): void {
    const {rows, isAtStart} = this.#state.window;
    const around = Math.max(0, LIVE_ROWS_MAX - (this.#visible.last - this.#visible.first + 1));
    const at = Math.max(0, this.#visible.first - Math.floor(around / MIDDLE));
    const from = at === 0 && isAtStart ? null : (rows[at]?.key ?? null);
    if (this.#live !== null && isSameKey(this.#live.from, from)) return;
    const before = this.#live;
    const stop = this.#reads.live(queryFrom(this.#query, from, LIVE_ROWS_MAX), docs => {
      if (this.#live?.stop !== stop) return;
      this.#merge(sliceOf(this.#query.order, from, docs, LIVE_ROWS_MAX, {isLive: true}));
      this.#fill();
    });
    this.#live = {from, stop};
    before?.stop();
  }
}

function isSameKey(a: RowKey | null, b: RowKey | null): boolean {
  return a === b || (a !== null && b !== null && a.id === b.id && a.created === b.created);
}
