/** The newest executions of a tenant's functions, as they end; reconnects by itself. */
import {useEffect, useRef, useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {ApiFailure} from '../../api/failure.ts';
import {jsonLines} from '../../api/lines.ts';
import {LOG_ENTRIES_MAX, LOG_HISTORY_ENTRIES, LOG_SHOW_MS, RECONNECT_MS} from '../../limits.ts';

export type LogEntry = AnswerOf<'logs.read'>;
export type LogFilter = {readonly path: string; readonly outcome: string; readonly request_id: string};

type Tail = {
  /** The newest first. */
  entries: readonly LogEntry[];
  /** Entries that arrived since the pause. */
  waiting: number;
  hasBegun: boolean;
  isLive: boolean;
  error: unknown;
  retry(): void;
};

export function useLogTail(tenant: string, filter: LogFilter, isPaused: boolean): Tail {
  const [entries, setEntries] = useState<readonly LogEntry[]>([]);
  const [waiting, setWaiting] = useState(0);
  const [state, setState] = useState({hasBegun: false, isLive: false, error: null as unknown});
  const [attempt, setAttempt] = useState(0);
  /** What has arrived and is not shown yet: a busy tenant does not render the page for each entry. */
  const arrived = useRef<LogEntry[]>([]);
  const {path, outcome, request_id} = filter;

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt follows once
  useEffect(() => {
    const abort = new AbortController();
    arrived.current = [];
    setEntries([]);
    setState({hasBegun: false, isLive: false, error: null});
    // A function still being typed is no reason for a request for each letter.
    const start = setTimeout(() => void follow(), path === '' && request_id === '' ? 0 : LOG_SHOW_MS);

    async function follow(): Promise<void> {
      const query = {
        history: LOG_HISTORY_ENTRIES,
        follow: 'true' as const,
        ...(path === '' ? {} : {path}),
        ...(request_id === '' ? {} : {request_id}),
        ...(outcome === 'success' || outcome === 'error' ? {outcome: outcome as 'success' | 'error'} : {}),
      };
      try {
        setTimeout(() => setState(before => ({...before, hasBegun: true})), LOG_SHOW_MS);
        const lines = jsonLines<'logs.read', LogEntry>('logs.read', {tenant, query}, {signal: abort.signal});
        setState({hasBegun: false, isLive: true, error: null});
        for await (const entry of lines) {
          arrived.current.push(entry);
          if (arrived.current.length > LOG_ENTRIES_MAX) arrived.current.shift();
        }
      } catch (error) {
        if (abort.signal.aborted) return;
        const isRefused = error instanceof ApiFailure && error.status >= 400 && error.status < 500;
        if (isRefused) return setState({hasBegun: true, isLive: false, error});
      }
      setState(before => ({...before, isLive: false}));
      setTimeout(() => !abort.signal.aborted && setAttempt(before => before + 1), RECONNECT_MS);
    }
    return () => {
      clearTimeout(start);
      abort.abort();
    };
  }, [tenant, path, outcome, request_id, attempt]);

  useEffect(() => {
    const show = () => {
      if (isPaused) return setWaiting(arrived.current.length);
      if (arrived.current.length === 0) return;
      const news = arrived.current.splice(0).reverse();
      setWaiting(0);
      setEntries(before => [...news, ...before].slice(0, LOG_ENTRIES_MAX));
    };
    show();
    const timer = setInterval(show, LOG_SHOW_MS);
    return () => clearInterval(timer);
  }, [isPaused]);

  return {entries, waiting, ...state, retry: () => setAttempt(before => before + 1)};
}
