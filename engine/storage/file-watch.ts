/**
 * Notices that a tenant's files were removed, replaced or truncated while its worker has them open. Otherwise the
 * worker would acknowledge writes into files that no longer have a name. A check costs two system calls, some 10 µs per
 * commit group.
 *
 * Only this worker writes the files: SQLite shrinks a database only in a VACUUM and truncates its WAL only at the
 * close.
 *
 * The index of the WAL (`-shm`) contains nothing that the WAL lacks. Losing it loses no commit, so commits do not check
 * it. But any later connection, such as a query thread's, would create another one and read an old state for ever.
 */
import {statSync} from 'node:fs';

type Seen = {dev: number; ino: number; size: number};

export class FileWatch {
  readonly #paths: readonly string[];
  readonly #logIndex: string;
  readonly #seen = new Map<string, Seen>();

  /** @param path of the tenant's file, which is open */
  constructor(path: string) {
    this.#paths = [path, `${path}-wal`];
    this.#logIndex = `${path}-shm`;
    this.findingOfAll();
  }

  /** The change to the files with commits since the last check; null: none. */
  finding(): string | null {
    return this.#look(this.#paths);
  }

  /** The same, including the index of the WAL. */
  findingOfAll(): string | null {
    return this.#look([...this.#paths, this.#logIndex]);
  }

  #look(paths: readonly string[]): string | null {
    for (const path of paths) {
      const seen = this.#seen.get(path);
      const now = statSync(path, {throwIfNoEntry: false});
      if (seen === undefined && now === undefined) continue; // The first write creates the WAL.
      const change = seen === undefined ? null : changeOf(seen, now);
      if (change !== null) return `${path} was ${change}`;
      this.#seen.set(path, {dev: now!.dev, ino: now!.ino, size: now!.size});
    }
    return null;
  }
}

function changeOf(seen: Seen, now: Seen | undefined): string | null {
  if (now === undefined) return 'removed';
  if (now.ino !== seen.ino || now.dev !== seen.dev) return 'replaced';
  return now.size < seen.size ? `cut to ${now.size} bytes` : null;
}
