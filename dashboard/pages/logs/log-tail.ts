/** Executions that match a filter at the server: the newest, live as they end, and older ones page by page. */
import {useEffect, useRef, useState} from 'react';
import {ApiFailure} from '../../api/failure.ts';
import {jsonLines} from '../../api/lines.ts';
import {LOG_ENTRIES_MAX, LOG_HISTORY_ENTRIES, LOG_SHOW_MS, LOG_TYPING_MS, RECONNECT_MS} from '../../limits.ts';
import {isFiltered, type LogFilter, queryOf} from './log-filter.ts';
import {
  type LogEntry,
  type LogWindow,
  NO_ENTRIES,
  positionOf,
  released,
  withHistory,
  withNews,
  withOlder,
} from './log-window.ts';

type Tail = LogWindow & {
  readonly hasBegun: boolean;
  readonly isLive: boolean;
  readonly error: unknown;
  readonly isReadingOlder: boolean;
  /** Reads the entries before the last one. */
  readOlder(): void;
  /** Shows the newest entries again. */
  release(): void;
  retry(): void;
};

const BEGINNING = {hasBegun: false, isLive: false, error: null as unknown};

export function useLogTail(tenant: string, wanted: LogFilter, isHeld: boolean): Tail {
  const filter = useSettled(wanted);
  const [window, setWindow] = useState(NO_ENTRIES);
  const [state, setState] = useState(BEGINNING);
  const [isReadingOlder, setReadingOlder] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const held = useRef(isHeld);
  held.current = isHeld;
  /** The filter of the entries in the window, which stay while the connection is made again. */
  const shown = useRef<LogFilter | null>(null);
  /** Aborts what the filter before has requested. */
  const current = useRef(new AbortController());

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt follows once
  useEffect(() => {
    const abort = new AbortController();
    current.current = abort;
    if (shown.current !== filter) {
      shown.current = filter;
      setWindow(NO_ENTRIES);
      setState(BEGINNING);
      setReadingOlder(false);
    }
    const news: LogEntry[] = [];
    const show = () => news.length > 0 && setWindow(before => withNews(before, news.splice(0), held.current));
    // A busy tenant does not render the page for each entry.
    const timer = setInterval(show, LOG_SHOW_MS);
    let retry: ReturnType<typeof setTimeout>;

    async function follow(): Promise<void> {
      const parameters = queryOf(filter, Date.now());
      const isEndless = parameters.until === undefined;
      const query = {...parameters, history: LOG_HISTORY_ENTRIES, follow: `${isEndless}` as const};
      try {
        const history: LogEntry[] = [];
        let hasBegun = false;
        const begin = () => {
          if (hasBegun) return;
          hasBegun = true;
          setWindow(before => withHistory(before, history, held.current));
          setState({hasBegun: true, isLive: isEndless, error: null});
        };
        const options = {signal: abort.signal};
        for await (const entry of jsonLines<'logs.read', LogEntry>('logs.read', {tenant, query}, options)) {
          if (entry === null) begin();
          else if (hasBegun) news.push(entry);
          else history.push(entry);
          if (news.length > LOG_ENTRIES_MAX) show();
        }
        begin();
        if (!isEndless) return;
      } catch (error) {
        if (abort.signal.aborted) return;
        const isRefused = error instanceof ApiFailure && error.status >= 400 && error.status < 500;
        if (isRefused) return setState({hasBegun: true, isLive: false, error});
      }
      setState(before => ({...before, isLive: false}));
      retry = setTimeout(() => setAttempt(before => before + 1), RECONNECT_MS);
    }
    void follow();
    return () => {
      abort.abort();
      clearInterval(timer);
      clearTimeout(retry);
    };
  }, [tenant, filter, attempt]);

  async function readOlder(): Promise<void> {
    const last = window.entries.at(-1);
    if (isReadingOlder || !window.hasOlder || last === undefined) return;
    setReadingOlder(true);
    const {signal} = current.current;
    const query = {...queryOf(filter, Date.now()), history: LOG_HISTORY_ENTRIES, before: positionOf(last)};
    const page: LogEntry[] = [];
    try {
      for await (const entry of jsonLines<'logs.read', LogEntry>('logs.read', {tenant, query}, {signal})) {
        if (entry !== null) page.push(entry);
      }
      if (!signal.aborted) setWindow(before => withOlder(before, page));
    } catch (error) {
      if (!signal.aborted) setState(before => ({...before, error}));
    }
    if (!signal.aborted) setReadingOlder(false);
  }

  function restart(): void {
    shown.current = null;
    setAttempt(before => before + 1);
  }
  const release = () => (window.isDetached ? restart() : setWindow(before => released(before)));
  return {...window, ...state, isReadingOlder, readOlder: () => void readOlder(), release, retry: restart};
}

/** The filter, once nothing was typed for a moment: a letter is no reason for a request. */
function useSettled(filter: LogFilter): LogFilter {
  const [settled, setSettled] = useState(filter);
  const text = JSON.stringify(filter);
  useEffect(() => {
    const timer = setTimeout(
      () => setSettled(before => (JSON.stringify(before) === text ? before : (JSON.parse(text) as LogFilter))),
      isFiltered(JSON.parse(text) as LogFilter) ? LOG_TYPING_MS : 0,
    );
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
