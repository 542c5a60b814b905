/** Captures a tenant of a running service from outside: page sets of its log, and what its tables have at a commit. */
import {createHash} from 'node:crypto';
import Database from 'better-sqlite3';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {writeSet} from '../../engine/copies/captured-set.ts';
import {LogReader} from '../../engine/copies/log-reader.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {writeBase} from '../../engine/copies/whole-base.ts';
import {storedCommitNumber} from '../../engine/storage/commit-number.ts';
import {readIdentity, tenantTimeline} from '../../engine/storage/identity.ts';

/** A snapshot of a file: what each of its tables has, and the newest commit. */
export type Snapshot = {commit: number; timeline: string; pages: number; tables: Record<string, string>};

/** Whose file it is. */
export function ownerIn(path: string): {tenant: string; generation: number} {
  const db = new Database(path, {readonly: true, fileMustExist: true});
  try {
    return readIdentity(db)!;
  } finally {
    db.close();
  }
}

export function snapshotOf(path: string): Snapshot {
  const db = new Database(path, {readonly: true, fileMustExist: true});
  try {
    return db.transaction(() => {
      const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck();
      return {
        commit: storedCommitNumber(db),
        timeline: tenantTimeline(db),
        pages: db.pragma('page_count', {simple: true}) as number,
        tables: Object.fromEntries(names.all().map(name => [name, contentOf(db, name)])),
      };
    })();
  } finally {
    db.close();
  }
}

function contentOf(db: Database.Database, table: string): string {
  const hash = createHash('sha256');
  let rows = 0;
  for (const row of db.prepare(`SELECT * FROM ${table}`).raw().iterate()) {
    hash.update(JSON.stringify(row));
    rows++;
  }
  return `${rows} rows ${hash.digest('hex').slice(0, 16)}`;
}

/** What sets say of the journal and the time after their last commits. */
export type CapturedPoint = {sequence: number; timeMs: number};

export class TenantCapture {
  readonly #log: LogReader;
  readonly #pointNow: () => CapturedPoint;
  #position: Position;
  readonly sets: PageSet[] = [];
  /** Of the newest one. */
  bytes: Buffer;

  /** @param path of a file whose log has every commit since it was opened */
  constructor(path: string, pointNow: () => CapturedPoint = () => ({sequence: 0, timeMs: 0})) {
    this.#log = new LogReader(path);
    this.#pointNow = pointNow;
    const {commit, timeline, pages} = this.#caughtUp(path);
    const sink = new MemorySink();
    this.#position = writeBase(this.#log, {timeline, pageBytes: 4096, pages, commit, ...pointNow()}, sink);
    this.bytes = sink.bytes;
    this.sets.push(new PageSet(sourceOf(this.bytes)));
  }

  /** Makes a set of the commits up to this one. @param most of them. @returns whether it was reached */
  takeTo(last: number, most: number): boolean {
    const commits = Math.min(most, last - this.#position.commit);
    if (commits > 0) {
      const taken = this.#log.take(commits);
      const commit = this.#position.commit + commits;
      const sink = new MemorySink();
      this.#position = writeSet(this.#log, this.#position, taken, {commit, ...this.#pointNow()}, sink);
      this.#log.accept(taken);
      this.bytes = sink.bytes;
      this.sets.push(new PageSet(sourceOf(this.bytes)));
    }
    if (this.#position.commit > last) throw new Error(`commit ${last} was taken before`);
    return this.#position.commit === last;
  }

  /** The state that the log ends with. */
  #caughtUp(path: string): Snapshot {
    for (;;) {
      this.#log.accept(this.#log.take(Number.MAX_SAFE_INTEGER, 0));
      const snapshot = snapshotOf(path);
      const more = this.#log.take(Number.MAX_SAFE_INTEGER, 0);
      this.#log.accept(more);
      if (more.commits === 0) return snapshot;
    }
  }

  close(): void {
    this.#log.close();
  }
}
