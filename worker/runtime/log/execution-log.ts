/**
 * The finished executions of a tenant, for GET …/logs and `svc logs`.
 *
 *   every execution ───────────────▶ memory: the newest ones ──▶ history, followers
 *   failed, or wrote a line ───────▶ files beside the tenant's file ──▶ history from before this process, searches
 *   failed ────────────────────────▶ the service's own log, with the request id, as many as it has room for
 *
 * Executions that succeeded and wrote no line are not stored on disk, unless a call that they made is: a busy tenant
 * would displace everything important from the files. Followers get each entry as it is written; a slow follower loses
 * entries instead of delaying them.
 */
import {overloaded} from '../../../shared/errors.ts';
import {LOG_ENTRIES_KEEP} from '../../../shared/limits.ts';
import type {Logger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {LOG_CHARS_KEEP, LOG_FILE_BYTES, LOG_FILES_KEEP, LOG_FOLLOWERS_MAX} from '../limits.ts';
import type {FailureLines} from './failure-lines.ts';
import {isSilent, type LogFilter, lineOf, matches, NewestEntries} from './log-entries.ts';
import {LogFiles} from './log-files.ts';
import {type Span, storeParents} from './span.ts';

/** An entry before it has its number and its span. */
export type UnnumberedEntry = Omit<LogEntry, 'n' | 'call_id' | 'parent_call_id' | 'trace_id'>;

export class ExecutionLog {
  readonly #files: LogFiles<LogEntry>;
  readonly #failures: FailureLines;
  readonly #newest = new NewestEntries<LogEntry>(LOG_ENTRIES_KEEP, LOG_CHARS_KEEP);
  readonly #followers = new Set<(entry: LogEntry, text: string) => void>();
  /** Silent entries that are in the files, because a call that they made is. */
  readonly #storedSilent = new WeakSet<LogEntry>();
  #n = 0;

  constructor(files: LogFiles<LogEntry>, failures: FailureLines) {
    this.#files = files;
    this.#failures = failures;
  }

  add(finished: UnnumberedEntry, span: Span): void {
    // Field by field: copies of unknown objects cost as much as the rest.
    const entry: Required<LogEntry> = {
      n: ++this.#n,
      at: finished.at,
      request_id: finished.request_id,
      path: finished.path,
      kind: finished.kind,
      caller: finished.caller,
      outcome: finished.outcome,
      duration_ms: finished.duration_ms,
      error: finished.error,
      lines: finished.lines,
      call_id: span.callId,
      parent_call_id: span.parentCallId,
      trace_id: span.traceId,
    };
    const isStored = !isSilent(entry) || span.isStored;
    // Most entries are never read, and a line costs as much as the rest of the record.
    if (!isStored && this.#followers.size === 0) {
      this.#newest.add(entry, null);
      return;
    }
    const text = lineOf(entry);
    this.#newest.add(entry, text);
    if (isStored) {
      this.#files.write(text);
      storeParents(span);
      if (isSilent(entry)) this.#storedSilent.add(entry);
    }
    if (entry.outcome === 'error') this.#failures.add(entry);
    for (const follower of this.#followers) follower(entry, text);
  }

  /** The newest entries as JSON lines, oldest first. Entries from before this process come from the files. */
  newest(count: number): Promise<string> {
    return this.#newest.history(count, () => this.#files.read({beforeThisProcess: true}));
  }

  /** The newest entries that match `filter`, from files and memory, as JSON lines, oldest first. */
  async search(filter: LogFilter, count: number): Promise<string> {
    const found = new NewestEntries<LogEntry>(Math.min(count, LOG_ENTRIES_KEEP), LOG_CHARS_KEEP);
    await this.#files.flush();
    const isInMemoryOnly = (entry: LogEntry) => isSilent(entry) && !this.#storedSilent.has(entry);
    const silent = this.#newest.entries().filter(({entry}) => isInMemoryOnly(entry) && matches(filter, entry));
    let next = 0;
    const addSilentUntil = (atMs: number) => {
      for (; next < silent.length && silent[next]!.entry.at <= atMs; next++)
        found.add(silent[next]!.entry, silent[next]!.text);
    };
    for await (const {entry, text} of this.#files.read({containing: filter.requestId ?? filter.traceId})) {
      if (!matches(filter, entry)) continue;
      addSilentUntil(entry.at);
      found.add(entry, text);
    }
    addSilentUntil(Number.POSITIVE_INFINITY);
    return found.text(count);
  }

  /**
   * Calls `onLine` with every new entry that matches `filter`. @returns a function that stops it. @throws
   * session.overloaded 503
   */
  follow(filter: LogFilter, onLine: (line: string) => void): () => void {
    if (this.#followers.size >= LOG_FOLLOWERS_MAX) {
      throw overloaded(`${LOG_FOLLOWERS_MAX} readers follow this tenant's log already`);
    }
    const follower = (entry: LogEntry, text: string) => {
      if (matches(filter, entry)) onLine(text);
    };
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Resolves when the logged entries are in the files, as far as they could be written. */
  close(): Promise<void> {
    return this.#files.close();
  }
}

/** The executions stored on disk. */
export function executionFiles(directory: string, log: Logger): LogFiles<LogEntry> {
  const parse = (json: unknown): LogEntry | null => {
    const entry = json as Partial<LogEntry> | null;
    const isEntry =
      typeof entry?.at === 'number' && typeof entry.duration_ms === 'number' && Array.isArray(entry.lines);
    return isEntry ? (entry as LogEntry) : null;
  };
  return new LogFiles({
    directory,
    prefix: 'executions',
    fileBytes: LOG_FILE_BYTES,
    filesKeep: LOG_FILES_KEEP,
    parse,
    log,
  });
}
