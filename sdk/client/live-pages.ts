/**
 * A list in pages outside of components: it watches the pages that the list wants, takes halves of large pages when they are there, and
 * begins again when a cursor is no good any more. `usePaginatedQuery` does the same with the state of a component.
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

/** Its arguments, but for `paginationOpts`, which the list fills in. */
export type PaginatedQueryArgs<Query extends PaginatedQueryReference> = Expand<
  BetterOmit<FunctionArgs<Query>, 'paginationOpts'>
>;

/** What is in its pages. */
export type PaginatedQueryItem<Query extends PaginatedQueryReference> = FunctionReturnType<Query>['page'][number];

/** The pages of a list that are there, the first one at least. */
export type LoadedPages<Item> = {
  /** Of all pages so far, without gaps, current. */
  results: Item[];
  status: 'CanLoadMore' | 'LoadingMore' | 'Exhausted';
  /** Asks for so many more, when the status is `CanLoadMore`; otherwise it does nothing. */
  loadMore: (numItems: number) => void;
};

/** `error`: what a page has failed with; `shown` is then of before. */
export type PagesNow = {shown: LoadedPages<unknown> | undefined; error: Error | undefined};

export class LivePages {
  readonly #engine: SyncEngine;
  readonly #query: PaginatedQueryReference;
  readonly #args: unknown;
  readonly #changed: (now: PagesNow) => void;
  readonly #stopListening: () => void;
  #list: PagedList;
  #watched = new Map<Page, Subscription>();
  /** What `#now` is made of: when all of it is the same, there is nothing new to show. */
  #parts: readonly unknown[] = [];
  #now: PagesNow = {shown: undefined, error: undefined};
  #told = this.#now;
  #isEnded = false;

  /** @param changed runs after each change, never before this returns. @throws Error for arguments that are no values */
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

  /** Undefined: the first page has not been there yet. @throws Error that a page failed with */
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

  /** Pages that are wanted already stay as they are. */
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
    if (this.#isEnded || this.#now === this.#told) return;
    this.#told = this.#now;
    this.#changed(this.#now);
  }

  /** Listeners of one change run one after the other: one may ask for the pages before they are told of it. */
  #refresh(): void {
    if (this.#isEnded) return;
    let pages: ShownPages | undefined;
    let error: Error | undefined;
    try {
      pages = this.#settled();
    } catch (caught) {
      error = caught as Error;
    }
    // What was shown stays until the first page is there (again).
    if (pages?.status === 'LoadingFirstPage') return;
    const parts = pages === undefined ? [error] : [this.#list.id, pages.status, pages.continueCursor, ...pages.items];
    if (parts.length === this.#parts.length && parts.every((part, i) => Object.is(part, this.#parts[i]))) return;
    this.#parts = parts;
    this.#now = {shown: pages === undefined ? this.#now.shown : this.#loaded(pages), error};
  }

  /** With the list as its results want it. @throws Error that a page failed with */
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
