/**
 * The log of a service: its output and events. The newest lines are in memory for readers and followers; more are in
 * files next to the tenant's file, which outlive the worker.
 */
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import {overloaded} from '../../../shared/errors.ts';
import {SERVICE_LOG_ENTRIES_KEEP} from '../../../shared/limits.ts';
import type {Logger} from '../../../shared/log.ts';
import type {ServiceLogEntry} from '../../../shared/protocol/services.ts';
import {LOG_CHARS_KEEP} from '../../runtime/limits.ts';
import {lineOf, NewestEntries} from '../../runtime/log/log-entries.ts';
import {LogFiles} from '../../runtime/log/log-files.ts';
import {historyCount, type LogTarget, sendLog} from '../../runtime/log/read-log.ts';
import {
  SERVICE_LOG_FILE_BYTES,
  SERVICE_LOG_FILES_KEEP,
  SERVICE_LOG_FOLLOWERS_MAX,
  SERVICE_LOG_LINES_MAX,
} from '../limits.ts';

type Level = ServiceLogEntry['level'];
type Follower = {onLine: (line: string) => void; onEnd: () => void};

/** Prefixes that the runtime's console puts before its lines. */
const LEVELS: Readonly<Record<string, Level>> = {
  '[DEBUG] ': 'debug',
  '[LOG] ': 'log',
  '[INFO] ': 'info',
  '[WARN] ': 'warn',
  '[ERROR] ': 'error',
};

export class ServiceLog {
  readonly #directory: string;
  readonly #files: LogFiles<ServiceLogEntry>;
  readonly #newest = new NewestEntries<ServiceLogEntry>(SERVICE_LOG_ENTRIES_KEEP, LOG_CHARS_KEEP);
  readonly #followers = new Set<Follower>();
  readonly #clock: () => number;
  #n = 0;
  /** The second whose lines are being counted. */
  #second = 0;
  #lines = 0;
  #dropped = 0;

  /** @param tenant the tenant's directory */
  constructor(tenant: string, service: string, log: Logger, clock: () => number) {
    this.#directory = directoryOf(tenant, service);
    this.#clock = clock;
    this.#files = new LogFiles({
      directory: this.#directory,
      prefix: 'service',
      fileBytes: SERVICE_LOG_FILE_BYTES,
      filesKeep: SERVICE_LOG_FILES_KEEP,
      parse: entryIn,
      log,
    });
  }

  /** Adds a line of its console, complete with its level. */
  console(line: string): void {
    const second = Math.floor(this.#clock() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#lines = 0;
      this.#tellDropped();
    }
    if (++this.#lines > SERVICE_LOG_LINES_MAX) {
      this.#dropped++;
      return;
    }
    const [start = '', level = 'log'] = Object.entries(LEVELS).find(([known]) => line.startsWith(known)) ?? [];
    this.#add(level, line.slice(start.length));
  }

  /** Adds a line about the service itself. */
  say(line: string): void {
    this.#tellDropped();
    this.#add('service', line);
  }

  /** See GET …/logs. @throws op.invalid_input 400, session.overloaded 503 */
  read(to: LogTarget, query: string): Promise<void> {
    const parameters = new URLSearchParams(query);
    const count = historyCount(parameters, SERVICE_LOG_ENTRIES_KEEP);
    // Lines from before this process come from the files.
    const earlier = () => this.#files.read({beforeThisProcess: true});
    return sendLog(to, parameters.get('follow') === 'true', {
      history: () => this.#newest.history(count, earlier),
      follow: (onLine, onEnd) => this.#follow({onLine, onEnd}),
    });
  }

  /** Ends its followers, which have read all of it, and deletes the files. */
  async remove(): Promise<void> {
    for (const {onEnd} of this.#followers) onEnd();
    this.#followers.clear();
    await this.#files.close();
    await rm(this.#directory, {recursive: true, force: true});
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  #add(level: Level, line: string): void {
    const entry: ServiceLogEntry = {n: ++this.#n, at: Math.floor(this.#clock()), level, line};
    const text = lineOf(entry);
    this.#newest.add(entry, text);
    this.#files.write(text);
    for (const {onLine} of this.#followers) onLine(text);
  }

  #tellDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0)
      this.#add('service', `${dropped} lines were dropped: it may log ${SERVICE_LOG_LINES_MAX} a second`);
  }

  #follow(follower: Follower): () => void {
    if (this.#followers.size >= SERVICE_LOG_FOLLOWERS_MAX) {
      throw overloaded(`${SERVICE_LOG_FOLLOWERS_MAX} readers follow this log already`);
    }
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

function directoryOf(tenant: string, service: string): string {
  return join(tenant, 'service-logs', service);
}

/** Deletes the log of a service that no longer exists. @param tenant the tenant's directory */
export function removeLog(tenant: string, service: string): Promise<void> {
  return rm(directoryOf(tenant, service), {recursive: true, force: true});
}

function entryIn(json: unknown): ServiceLogEntry | null {
  const entry = json as Partial<ServiceLogEntry> | null;
  return typeof entry?.at === 'number' && typeof entry.line === 'string' ? (entry as ServiceLogEntry) : null;
}
