/**
 * A paginated list outside of components. It watches the pages that the list needs, replaces a large page by its halves
 * when they have arrived, and starts over when a cursor is no longer valid. `usePaginatedQuery` does the same with the
 * state of a component.
 */
import type {FunctionArgs, FunctionReference, FunctionReturnType} from '../server/function-reference.ts';
import type {BetterOmit, Expand} from '../values/value.ts';
import {
  failureOf,
  newList,
  optionsOf,
  type Page,
  type PagedList,
  type ShownPages,
  shownPages,
  split,
  watchedPages,
  withNextPage,
} from './pages.ts';
import type {Subscription, SyncEngine} from './sync-engine.ts';

/** A function that was registered with `paginatedQuery`. */
export type PaginatedQueryReference = FunctionReference<'paginatedQuery'>;

/** Its arguments without `paginationOpts`, which the list fills in. */
export type PaginatedQueryArgs<Query extends PaginatedQueryReference> = Expand<
  BetterOmit<FunctionArgs<Query>, 'paginationOpts'>
>;

/** The type of the items in its pages. */
export type PaginatedQueryItem<Query extends PaginatedQueryReference> = FunctionReturnType<Query>['page'][number];

/** The loaded pages of a list, at least the first one. */
export type LoadedPages<Item> = {
  /** The items of all pages so far, without gaps, current. */
  results: Item[];
  status: 'CanLoadMore' | 'LoadingMore' | 'Exhausted';
  /** Requests `numItems` more when the status is `CanLoadMore`; otherwise does nothing. */
  loadMore: (numItems: number) => void;
};

/** `error`: the error that a page failed with; `shown` is then the state before the failure. */
export type PagesNow = {shown: LoadedPages<unknown> | undefined; error: Error | undefined};

export class LivePages {
  readonly #engine: SyncEngine;
  readonly #query: PaginatedQueryReference;
  readonly #args: unknown;
  readonly #changed: (now: PagesNow) => void;
  readonly #stopListening: () => void;
  #list: PagedList;
  #watched = new Map<Page, Subscription>();
  /** The inputs of `#now`: while all of them are the same, there is nothing new to show. */
  #parts: readonly unknown[] = [];
  #now: PagesNow = {shown: undefined, error: undefined};
  #notified = this.#now;
  #isEnded = false;

  /**
   * @param changed runs after each change, never before this returns.
   * @throws Error when the arguments are not values
   */
  constructor(
    engine: SyncEngine,
    query: PaginatedQueryReference,
    args: unknown,
    {initialNumItems}: {initialNumItems: number},
    changed: (now: PagesNow) => void,
  ) {
    this.#engine = engine;
    this.#query = query;
    this.#args = args;
    this.#changed = changed;
    this.#list = newList(initialNumItems);
    this.#watch();
    this.#stopListening = engine.onChange(tokens => {
      if ([...this.#watched.values()].some(({token}) => tokens.has(token))) this.#update();
    });
    this.#updateSoon();
  }

  /** Undefined while the first page has not arrived. @throws Error that a page failed with */
  current(): LoadedPages<unknown> | undefined {
    this.#refresh();
    if (this.#now.error !== undefined) throw this.#now.error;
    return this.#now.shown;
  }

  end(): void {
    this.#isEnded = true;
    this.#stopListening();
    for (const subscription of this.#watched.values()) subscription.unsubscribe();
  }

  /** Pages that are already watched stay as they are. */
  #watch(): void {
    const before = this.#watched;
    this.#watched = new Map();
    for (const page of watchedPages(this.#list)) {
      const args = {...(this.#args as object), paginationOpts: optionsOf(this.#list, page)};
      this.#watched.set(page, before.get(page) ?? this.#engine.subscribe(this.#query, args, {paginated: true}));
    }
    for (const [page, subscription] of before) if (!this.#watched.has(page)) subscription.unsubscribe();
  }

  #updateSoon(): void {
    queueMicrotask(() => this.#update());
  }

  #update(): void {
    this.#refresh();
    if (this.#isEnded || this.#now === this.#notified) return;
    this.#notified = this.#now;
    this.#changed(this.#now);
  }

  /** Listeners of one change run one after the other: one of them can read the pages before `changed` is called. */
  #refresh(): void {
    if (this.#isEnded) return;
    let pages: ShownPages | undefined;
    let error: Error | undefined;
    try {
      pages = this.#settled();
    } catch (caught) {
      error = caught as Error;
    }
    // The previous items stay until the first page has arrived (again).
    if (pages?.status === 'LoadingFirstPage') return;
    const parts = pages === undefined ? [error] : [this.#list.id, pages.status, pages.continueCursor, ...pages.items];
    if (parts.length === this.#parts.length && parts.every((part, i) => Object.is(part, this.#parts[i]))) return;
    this.#parts = parts;
    this.#now = {shown: pages === undefined ? this.#now.shown : this.#loaded(pages), error};
  }

  /** Adapts the list to its results. @throws Error that a page failed with */
  #settled(): ShownPages {
    const resultOf = (page: Page) => this.#engine.localResult(this.#watched.get(page)!.token);
    for (;;) {
      const failure = failureOf(this.#list, resultOf);
      if (failure?.isCurable === false) throw failure.error;
      const next = failure === null ? split(this.#list, resultOf) : newList(this.#list.initialNumItems);
      if (next === this.#list) return shownPages(this.#list, resultOf);
      this.#list = next;
      this.#watch();
    }
  }

  #loaded({items, status, continueCursor}: ShownPages): LoadedPages<unknown> {
    const list = this.#list;
    const loadMore = (numItems: number) => {
      if (!(numItems > 0)) throw new Error(`loadMore wants a number greater than 0. Received: ${numItems}`);
      if (continueCursor === null || this.#isEnded) return;
      this.#list = withNextPage(this.#list, list, continueCursor, numItems);
      this.#watch();
      this.#updateSoon();
    };
    return {results: items, status: status as LoadedPages<unknown>['status'], loadMore};
  }
}
