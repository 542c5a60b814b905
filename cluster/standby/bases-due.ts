/** Counts what the log has since the newest base, of one tenant. */
import {BASE_LOG_BYTES, BASE_LOG_RECORDS} from '../limits.ts';
import type {BaseInfo} from '../log/base-list.ts';
import type {LogPosition} from '../log/record.ts';

export class BasesDue {
  /** Number of the newest record that a base has; null: not known; 0: there is no base. */
  #baseAt: number | null = null;
  /** Bytes of records since, as far as they were read by this process. What earlier ones have read counts as records only. */
  #bytes = 0;
  readonly #logBytes: number;

  constructor(logBytes = BASE_LOG_BYTES) {
    this.#logBytes = logBytes;
  }

  read(bytes: number): void {
    this.#bytes += bytes;
  }

  async learn(newest: () => Promise<BaseInfo | undefined>): Promise<void> {
    this.#baseAt ??= (await newest())?.position.n ?? 0;
  }

  /** @param tail what the file has now: records after the base have been read already */
  stored(at: number, tail: LogPosition | null): void {
    const sinceBefore = (tail?.n ?? 0) - (this.#baseAt ?? 0);
    const since = Math.max(0, (tail?.n ?? 0) - at);
    // Records of one tenant are much alike.
    this.#bytes = sinceBefore <= 0 ? 0 : Math.floor((this.#bytes * since) / sinceBefore);
    this.#baseAt = at;
  }

  isDue(tail: LogPosition | null, fileBytes: number): boolean {
    if (tail === null || this.#baseAt === null) return false;
    return this.#bytes > Math.max(this.#logBytes, fileBytes / 2) || tail.n - this.#baseAt > BASE_LOG_RECORDS;
  }
}
