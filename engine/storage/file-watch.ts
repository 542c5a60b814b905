/**
 * Notices that a tenant's files were removed, replaced or cut while its worker has them open. The worker would go on writing
 * into files that nobody finds again, and acknowledge it. Looking costs two system calls, some 10 µs a commit group.
 *
 * A file may grow and be written by us alone: SQLite shrinks a database only in a VACUUM and cuts its log only at the close.
 *
 * The index of the log (`-shm`) has nothing that the log has not: no commit is lost with it, so it is not looked at with each. But whoever opens the
 * file from then on, a query thread too, makes another one and would read the past for ever.
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

  /** What was done to the files that hold commits since the last look; null: nothing. */
  finding(): string | null {
    return this.#look(this.#paths);
  }

  /** The same, with the index of the log. */
  findingOfAll(): string | null {
    return this.#look([...this.#paths, this.#logIndex]);
  }

  #look(paths: readonly string[]): string | null {
    for (const path of paths) {
      const seen = this.#seen.get(path);
      const now = statSync(path, {throwIfNoEntry: false});
      if (seen === undefined && now === undefined) continue; // The log is made by the first write.
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
