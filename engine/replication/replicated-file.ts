/**
 * A tenant's closed file while it is brought to the tail of its log, record by record.
 *
 *   absent ── a base ──▶ copy ◀── a set that the file lacks: its WAL is moved into it ── own
 *     ▲                  │  │                                                            │ a set that it has: compared
 *     └── setAside, seed ┘  └───────────── finish: the place is saved ──▶ own ◀──────────┘
 *
 * A file of its own can be ahead of the log by commits that were not acknowledged, all of them in its WAL. They are
 * appended if they continue the log, and cut off if the log has another record in their place. A copy has a position
 * beside it (`copies/copy-file.ts`), so a process that ends at any step leaves a file that the next one goes on with. The
 * file itself says whether there is one: what lies beside a missing file is of no use.
 */
import {closeSync, existsSync, fsyncSync, ftruncateSync, openSync, rmSync} from 'node:fs';
import {dirname} from 'node:path';
import {assert} from '../../shared/assert.ts';
import {MemorySink, type Sink} from '../copies/bytes.ts';
import {writeSet} from '../copies/captured-set.ts';
import {CopyError} from '../copies/copy-error.ts';
import {CopyFile} from '../copies/copy-file.ts';
import {DISK} from '../copies/disk.ts';
import {LogReader} from '../copies/log-reader.ts';
import {checkFollows, type Position} from '../copies/page-set.ts';
import {PageSetError} from '../copies/page-set-error.ts';
import type {PageSet} from '../copies/page-set-reader.ts';
import {positionPath, writePosition} from '../copies/position-file.ts';
import {writeBase} from '../copies/whole-base.ts';
import {keepLogFiles, syncDirectory} from '../storage/file-guard.ts';
import type {LogPlace} from './appender.ts';
import {type ClosedFile, closedFileState, moveLog, refuseDamagedLog} from './closed-file.ts';
import {hasLocalNote, removeLocalNote} from './local-note.ts';
import {isMade, noteMade} from './made-note.ts';
import {readPlace, savePlace} from './place-file.ts';
import {type AsideReason, copyAside, removeFile, setAside} from './set-aside.ts';
import {writeWholeFile} from './whole-file.ts';

const NOWHERE = {write: () => undefined};

/** A file that a worker has written. `beforeLog`: the newest commit that its WAL lacks. */
type Own = {readonly log: LogReader; readonly file: ClosedFile; readonly beforeLog: number};

export class ReplicatedFile {
  readonly #path: string;
  readonly #nowMs: number;
  #own: Own | null = null;
  #copy: CopyFile | null = null;
  #at: Position | null = null;
  /** Of the newest record that the file is known to have. */
  #place: LogPlace | null = null;
  /** There is a file, and nothing says where in the log it is: the log has nothing of it, or it is set aside. */
  #isUnplaced = false;
  /** Of the newest record that the file has, for the name of what is set aside. */
  epoch = 0;
  #aside: string | null = null;
  #isWhole = false;

  /**
   * Completes what a process that ended has begun.
   * @param path of the file, which no process has open. @throws CopyError; PageSetError
   */
  constructor(path: string, nowMs: number) {
    this.#path = path;
    this.#nowMs = nowMs;
    if (!existsSync(path)) return;
    const place = readPlace(path);
    this.#place = place?.log ?? null;
    if (existsSync(positionPath(path))) {
      this.#copy = CopyFile.open(path);
      this.#at = this.#copy.position;
    } else if (place !== null) {
      refuseDamagedLog(path);
      this.#at = place.at;
      this.#own = ownFile(path, place.at, nowMs);
    } else this.#isUnplaced = true;
  }

  /** Where bytes can be put while the file is brought to the log. Its user removes it. */
  get scratch(): string {
    return `${this.#path}.fetched`;
  }

  /** Of the newest commit that is known to be in the log as well; null: the file is absent. */
  get at(): Position | null {
    return this.#at;
  }

  /** Newest commit of the file, which the log need not have; null: the file is absent. */
  get commit(): number | null {
    return this.#own?.file.commit ?? this.#at?.commit ?? null;
  }

  /** A directory with a copy of the file, made before acknowledged commits were cut off; null: there were none. */
  get aside(): string | null {
    return this.#aside;
  }

  /** Once it is finished: it is the file of this host's last worker, with all that it had acknowledged. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** It has nothing that the log has not, and sets of several records can be applied as one. */
  get isCopy(): boolean {
    return this.#copy !== null;
  }

  /** The newest record that it is known to have, behind which the log is read; null: from its beginning. */
  get place(): LogPlace | null {
    return this.#place;
  }

  /** The next record, with the page set of its commits. @throws CopyError; PageSetError */
  apply(set: PageSet, place: LogPlace): void {
    if (this.#at === null) {
      // The first commits of a log are a base.
      if (!set.isBase)
        throw new PageSetError('missing_commits', `commit ${set.head.first} is its first, and not a base`);
      this.seed(set, place);
    } else if (set.after.commit > this.#at.commit) {
      if (this.#copy === null && !this.#has(set, this.#at)) this.#becomeCopy(this.#at);
      this.#copy?.apply(set);
      this.#at = set.after;
    }
    this.#place = place;
  }

  /**
   * Begins with a base: the file is absent, or the log no longer has all records behind its place. A copy has only what
   * the log had, and is replaced. A worker's file can have commits that no other file has: set it aside before.
   * @throws PageSetError
   */
  seed(base: PageSet, place: LogPlace): void {
    assert(base.isBase && this.#own === null, 'a base replaces a copy');
    // The log has another file, or this one as it was before its process ended.
    if (this.#isUnplaced) setAside(this.#path, 'diverged', 0);
    this.#isUnplaced = false;
    this.close();
    removeFile(this.#path);
    // Before the file: then it has a place from the first moment, if the process ends before it has a position.
    savePlace(this.#path, {at: base.after, log: place});
    this.#copy = CopyFile.create(this.#path, base);
    this.#at = this.#copy.position;
    this.#place = place;
  }

  /** It cannot be continued: it is moved to a directory beside it, and is absent then. @returns the directory */
  setAside(why: AsideReason, epoch: number): string {
    this.close();
    const directory = setAside(this.#path, why, epoch);
    [this.#at, this.#place] = [null, null];
    return directory;
  }

  /** A base of what the log has of the file. @throws CopyError: the file is damaged, and the base worth nothing */
  writeBase(sink: Sink): void {
    const [own, at] = [this.#own, this.#at];
    assert(at !== null, 'there is a file');
    if (own === null) {
      this.#copy!.writeBase(sink);
      return;
    }
    checkInLog(own, at);
    const reader = readerAt(this.#path, own, at);
    try {
      const {digest} = writeBase(reader, at, sink);
      if (!digest.equals(at.digest)) throw new CopyError(`the pages of ${this.#path} are not those of its log`);
    } finally {
      reader.close();
    }
  }

  /** A base of the newest commit of the file, whether the log has it or not. @throws CopyError */
  writeNewest(sink: Sink): void {
    if (this.#isUnplaced) {
      writeWholeFile(this.#path, sink, this.#nowMs);
      return;
    }
    const own = this.#own;
    if (own === null) {
      this.writeBase(sink);
      return;
    }
    const reader = new LogReader(this.#path);
    try {
      reader.accept(reader.take(own.file.commit - own.beforeLog));
      writeBase(reader, own.file, sink);
    } finally {
      reader.close();
    }
  }

  /** The set that leads from the file, a copy, to the database of a base. @throws PageSetError */
  writeDifference(base: PageSet, sink: Sink): void {
    assert(this.#copy !== null, 'a copy is at the tail of its log');
    this.#copy.writeDifference(base, sink);
  }

  /** Its first log, or another one, begins with the newest commit of the file, at this place. */
  setPlace(at: Position, log: LogPlace): void {
    const isWhole = at.commit === this.commit && at.timeline === this.#at?.timeline;
    assert(this.#isUnplaced || isWhole, 'the log has all of the file');
    this.close();
    savePlace(this.#path, {at, log});
    this.#isUnplaced = false;
    [this.#at, this.#place] = [at, log];
  }

  /** The next process reads the log from here. All that was applied is on disk. */
  save(): void {
    if (this.#at !== null && this.#place !== null) savePlace(this.#path, {at: this.#at, log: this.#place});
  }

  /**
   * A record without pages. After an `open` no commit of the file's last owner can be in the log as it is. Acknowledged ones
   * stay until another owner has committed: a host that pauses a tenant, or ended before it served it, has not.
   */
  pass(kind: 'open' | 'close', place: LogPlace): void {
    if (kind === 'open' && !hasLocalNote(this.#path)) this.cut();
    this.#place = place;
  }

  /** The commits that the file has and the log, up to its tail, has not. Null: there are none. */
  ahead(): Buffer | null {
    const [own, at] = [this.#own, this.#at];
    if (own === null || at === null || own.file.commit === at.commit) return null;
    checkInLog(own, at);
    const reader = readerAt(this.#path, own, at);
    try {
      const sink = new MemorySink();
      writeSet(reader, at, reader.take(own.file.commit - at.commit), own.file, sink);
      return sink.bytes;
    } finally {
      reader.close();
    }
  }

  /** What is ahead of the log is not in it, and never will be. */
  cut(): void {
    const [own, at] = [this.#own, this.#at];
    if (own === null || at === null || own.file.commit === at.commit) return;
    checkInLog(own, at);
    own.log.close();
    if (hasLocalNote(this.#path)) this.#aside = copyAside(this.#path, this.epoch);
    // The index of the log knows of what is cut.
    rmSync(`${this.#path}-shm`, {force: true});
    syncDirectory(dirname(this.#path));
    cutLog(this.#path, at.commit - own.beforeLog);
    removeLocalNote(this.#path);
    this.#own = ownFile(this.#path, at, own.file.timeMs);
  }

  /** The file is that of a worker again, at the tail of its log. @param place of the record that opens the log for it */
  finish(place: LogPlace): void {
    // Acknowledged commits that no other host has followed stay: its worker appends them first.
    const keepsAhead = hasLocalNote(this.#path);
    if (!keepsAhead) this.cut();
    const isCopy = this.#copy !== null;
    this.#isWhole = this.#own !== null && !isMade(this.#path);
    this.close();
    if (this.#at === null) return;
    savePlace(this.#path, {at: this.#at, log: place});
    if (!isCopy) return;
    removeLocalNote(this.#path);
    keepLogFiles(this.#path);
    // From one name to the other, because without either the file is that of a worker.
    noteMade(this.#path);
    syncDirectory(dirname(this.#path));
  }

  close(): void {
    this.#own?.log.close();
    this.#copy?.close();
    this.#own = null;
    this.#copy = null;
  }

  /** Whether the file's own commits are those of the set. */
  #has(set: PageSet, at: Position): boolean {
    const {log, file, beforeLog} = this.#own!;
    const {commit, digest, pages} = set.after;
    checkFollows(at, set.head);
    // A checkpoint moved only what the log had.
    if (commit <= beforeLog) return true;
    if (commit > file.commit || at.commit < beforeLog) return false;
    const taken = log.take(commit - at.commit);
    const after = writeSet(log, at, taken, set.after, NOWHERE);
    log.accept(taken);
    return after.digest.equals(digest) && after.pages === pages;
  }

  #becomeCopy(at: Position): void {
    this.cut();
    this.#own?.log.close();
    this.#own = null;
    moveLog(this.#path, at.pageBytes);
    writePosition(DISK, positionPath(this.#path), at);
    this.#copy = CopyFile.open(this.#path);
  }
}

/** @throws CopyError */
function ownFile(path: string, at: Position, nowMs: number): Own {
  const file = closedFileState(path, nowMs);
  const log = new LogReader(path);
  const beforeLog = file.commit - file.commitsInLog;
  if (at.timeline === file.timeline && at.commit <= file.commit) {
    if (at.commit > beforeLog) log.accept(log.take(at.commit - beforeLog));
    return {log, file, beforeLog};
  }
  log.close();
  throw new CopyError(
    `${path} is at commit ${file.commit} of ${file.timeline}, its log at ${at.commit} of ${at.timeline}`,
  );
}

/** @throws CopyError */
function checkInLog({beforeLog}: Own, {commit}: Position): void {
  if (commit >= beforeLog) return;
  throw new CopyError(`the log ends at commit ${commit}, and the file has commit ${beforeLog} for good`);
}

function readerAt(path: string, {beforeLog}: Own, at: Position): LogReader {
  const reader = new LogReader(path);
  reader.accept(reader.take(at.commit - beforeLog));
  return reader;
}

/** Leaves the first commits in the WAL. */
function cutLog(path: string, commits: number): void {
  const reader = new LogReader(path);
  let bytes: number;
  try {
    reader.take(commits);
    bytes = reader.bytesTaken;
  } finally {
    reader.close();
  }
  const log = openSync(`${path}-wal`, 'r+');
  try {
    ftruncateSync(log, bytes);
    fsyncSync(log);
  } finally {
    closeSync(log);
  }
}
