/**
 * The newest finished executions of a tenant, for GET …/logs and `svc logs`. Kept in memory: a worker that ends forgets them,
 * and the service's own log has the failures. Followers get each entry as it is written; one that reads too slowly loses
 * entries rather than holding them up.
 */

import {ServiceError} from '../../shared/errors.ts';
import {LOG_CHARS_KEEP, LOG_ENTRIES_KEEP, LOG_FOLLOWERS_MAX} from '../../shared/limits.ts';
import type {LogEntry} from '../../shared/protocol/functions.ts';

export class ExecutionLog {
  readonly #entries: {text: string; chars: number}[] = [];
  readonly #followers = new Set<(line: string) => void>();
  #n = 0;
  #chars = 0;

  add(entry: Omit<LogEntry, 'n'>): void {
    const text = `${JSON.stringify({n: ++this.#n, ...entry})}\n`;
    this.#entries.push({text, chars: text.length});
    this.#chars += text.length;
    while (this.#entries.length > LOG_ENTRIES_KEEP || (this.#chars > LOG_CHARS_KEEP && this.#entries.length > 1)) {
      this.#chars -= this.#entries.shift()!.chars;
    }
    for (const follower of this.#followers) follower(text);
  }

  /** The newest entries as JSON lines, oldest first. */
  newest(count: number): string {
    return this.#entries
      .slice(Math.max(0, this.#entries.length - count))
      .map(entry => entry.text)
      .join('');
  }

  /** Calls `onLine` with every entry from now on. @returns how to stop. @throws session.overloaded 503 */
  follow(onLine: (line: string) => void): () => void {
    if (this.#followers.size >= LOG_FOLLOWERS_MAX) {
      throw new ServiceError('session.overloaded', `${LOG_FOLLOWERS_MAX} readers follow this tenant's log already`);
    }
    this.#followers.add(onLine);
    return () => this.#followers.delete(onLine);
  }
}
