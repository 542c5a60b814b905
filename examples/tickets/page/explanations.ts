/** The server's reasons why queries ran again: the newest moments, and how often each query ran. Outside of React, for all of it. */
import {useSyncExternalStore} from 'react';
import type {SvcReactClientOptions} from 'svc/react';

type Explained = Parameters<NonNullable<SvcReactClientOptions['onExplain']>>[0];
export type Moment = Explained & {number: number};
export type Because = Explained['queries'][number]['because'];

const MOMENTS_MAX = 40;

class Explanations {
  #moments: readonly Moment[] = [];
  #told = 0;
  readonly #runs = new Map<string, number>();
  readonly #listeners = new Set<() => void>();

  readonly add = (explained: Explained): void => {
    if (explained.queries.length === 0) return;
    for (const {path, args} of explained.queries) {
      const key = keyOf(path, args);
      this.#runs.set(key, (this.#runs.get(key) ?? 0) + 1);
    }
    this.#moments = [{...explained, number: ++this.#told}, ...this.#moments].slice(0, MOMENTS_MAX);
    for (const listener of this.#listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly moments = (): readonly Moment[] => this.#moments;
  /** Different queries that this page has watched. */
  readonly queries = (): number => this.#runs.size;

  runs(path: string, args: object): number {
    return this.#runs.get(keyOf(path, args)) ?? 0;
  }
}

export const explanations = new Explanations();

/** How often this query has brought another result. */
export function useRuns(path: string, args: object): number {
  return useSyncExternalStore(explanations.subscribe, () => explanations.runs(path, args));
}

function keyOf(path: string, args: object): string {
  return `${path} ${JSON.stringify(Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
