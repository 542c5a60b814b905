/** A query that is held live: whole results, each told once, for as long as somebody wants them. */
import {eventsOf, type StreamState} from './events.ts';
import type {Transport} from './transport.ts';

export type LiveOptions = {
  readonly signal?: AbortSignal;
  /** It has ended, because the query is refused or its tenant is gone. Unless said, this is thrown where nobody catches it. */
  readonly onError?: (error: unknown) => void;
  /** Whether what was shown last is up to date, as far as can be told. */
  readonly onState?: (state: StreamState) => void;
};

/** @returns ends it: nobody is told anything any more */
export function live<Result>(
  transport: Transport,
  query: object,
  onResult: (result: Result) => void,
  {signal, onError, onState}: LiveOptions,
): () => void {
  const ended = new AbortController();
  const either = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  const follow = async () => {
    let shown: string | null = null;
    const states = (state: StreamState) => {
      if (!either.aborted) onState?.(state);
    };
    const stream = {method: 'POST', path: '/query/stream', body: query, signal: either, onState: states};
    for await (const {data} of eventsOf(transport, stream)) {
      if (either.aborted) return;
      // A stream that came back begins with the whole result, changed or not.
      if (data === shown) continue;
      shown = data;
      onResult((JSON.parse(data) as {data: Result}).data);
    }
  };
  follow().catch(error => {
    if (either.aborted) return;
    if (onError !== undefined) onError(error);
    else
      queueMicrotask(() => {
        throw error;
      });
  });
  return () => ended.abort();
}
