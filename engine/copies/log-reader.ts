/**
 * Reads the commits in the log of a tenant's file that a writer has open, one after the other, and the pages of the
 * database as they were before. It never looks further than the caller says, because later commits may not be durable.
 *
 *   the file ── pages that the log of this round has up to `position` ──▶ the database at `position`
 *                                                                  take ──▶ the pages that later commits changed
 *
 * Its caller ensures two things
 * - No checkpoint moves a commit that has not been accepted. So the file never has a page that is newer than the
 *   database before, and a round of the log is never overwritten before it is read.
 * - It is closed after every connection of its process. Closing a descriptor of the file releases SQLite's locks on it.
 */
import {closeSync, openSync} from 'node:fs';
import {assert} from '../../shared/assert.ts';
import {FRAME_HEADER_BYTES} from '../../shared/sqlite-header.ts';
import type {Sums} from '../storage/wal-checksum.ts';
import {
  frameHeaderIn,
  frameOffset,
  isSameSums,
  readFrame,
  readWalHeader,
  type WalHeader,
} from '../storage/wal-frames.ts';
import {readAt} from './bytes.ts';
import {CopyError} from './copy-error.ts';
import {FrameRuns} from './frame-runs.ts';

/** Commits that have been read, and not accepted. */
export type TakenCommits = {
  readonly commits: number;
  /** Of each changed page: the offset of its newest frame. */
  readonly changed: ReadonlyMap<number, number>;
  /** Pages of the database after the last of them; null: there are no commits. */
  readonly pagesAfter: number | null;
};

/** Where the next frame is. */
type Place = {header: WalHeader; frames: number; sums: Sums};

export class LogReader {
  readonly #path: string;
  readonly #file: number;
  readonly #log: number;
  /** Of the commits that were taken last. */
  readonly #runs: FrameRuns;
  /** Null: no commit has been in the log. */
  #place: Place | null = null;
  /** Of each page that an accepted commit of this round of the log changed: the offset of its newest frame. */
  #accepted = new Map<number, number>();

  /** @param path of the file, whose log exists */
  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'r');
    this.#log = openSync(`${path}-wal`, 'r');
    this.#runs = new FrameRuns(this.#log);
  }

  /**
   * Reads the next commits. Call `accept` before the next call. Commits that are known to be there are durable, so their
   * checksums are not compared.
   * @param most commits. @param least fewer are a loss. @param framesMax of the log. @throws CopyError
   */
  take(most: number, least = most, framesMax = Number.MAX_SAFE_INTEGER): TakenCommits {
    const changed = new Map<number, number>();
    const open = new Map<number, number>();
    let [commits, pagesAfter]: [number, number | null] = [0, null];
    this.turn();
    this.#runs.clear();
    let place = this.#place;
    while (commits < most) {
      const next = place === null || place.frames >= framesMax ? null : this.#frameAfter(place, least === most);
      if (next === null) break;
      place = next.place;
      open.set(next.pageNumber, frameOffset(place.header, place.frames) + FRAME_HEADER_BYTES);
      if (next.pagesAfter === 0) continue;
      for (const [page, at] of open) changed.set(page, at);
      open.clear();
      this.#place = place;
      pagesAfter = next.pagesAfter;
      commits++;
    }
    if (commits < least) throw new CopyError(`the log of ${this.#path} has ${commits} of the next ${least} commits`);
    return {commits, changed, pagesAfter};
  }

  /** The taken commits are in the database before, from now on. */
  accept(taken: TakenCommits): void {
    for (const [page, at] of taken.changed) this.#accepted.set(page, at);
    this.#runs.clear();
  }

  /** Back to the first commit of the log, at the start: nothing has been accepted. */
  rewind(): void {
    assert(this.#accepted.size === 0, 'only what has not been accepted is read again');
    this.#place = null;
  }

  /**
   * Whether a round of the log has begun since the last call of this or of `take`. Pages that were read meanwhile can be
   * wrong: it has overwritten frames. @throws CopyError
   */
  turn(): boolean {
    const place = this.#place;
    const header = readWalHeader(this.#log);
    if (header === null || (place !== null && header.salts.equals(place.header.salts))) return false;
    if (place !== null) this.#refuseSkipped(place, header);
    // A round begins when the file has all of the round before.
    this.#accepted = new Map();
    this.#place = {header, frames: 0, sums: header.sums};
    return true;
  }

  /** Bytes of the log up to the commits that were taken last. */
  get bytesTaken(): number {
    return this.#place === null ? 0 : frameOffset(this.#place.header, this.#place.frames + 1);
  }

  /** A page before the taken commits. @param into has space for it. Default: a buffer of its own */
  pageBefore(number: number, pageBytes: number, into?: Buffer): Buffer {
    const at = this.#accepted.get(number);
    const page =
      at === undefined
        ? readAt(this.#file, (number - 1) * pageBytes, pageBytes, into)
        : readAt(this.#log, at, pageBytes, into);
    // SQLite lengthens the file before it writes a page that no commit has written.
    return page.length === pageBytes ? page : Buffer.concat([page, Buffer.alloc(pageBytes - page.length)]);
  }

  /** A page that the taken commits changed. It is not to be changed. */
  pageAfter(number: number, pageBytes: number, {changed}: TakenCommits): Buffer {
    const at = changed.get(number);
    assert(at !== undefined, `page ${number} has changed`);
    return this.#runs.bytes(at, pageBytes) ?? readAt(this.#log, at, pageBytes);
  }

  close(): void {
    closeSync(this.#log);
    closeSync(this.#file);
  }

  /** @param isDurable its checksum is not compared */
  #frameAfter(place: Place, isDurable = false): {place: Place; pageNumber: number; pagesAfter: number} | null {
    const {header, frames, sums} = place;
    if (isDurable) {
      const bytes = this.#runs.frame(header, frames + 1);
      if (bytes === null) return null;
      const {hasSalts, pageNumber, pagesAfter, stored} = frameHeaderIn(bytes, header);
      return hasSalts ? {pageNumber, pagesAfter, place: {header, frames: frames + 1, sums: stored}} : null;
    }
    const frame = readFrame(this.#log, header, frames + 1);
    if (frame === null || !frame.hasSalts) return null;
    const computed = frame.sumFrom(sums);
    if (!isSameSums(computed, frame.stored)) return null;
    const {pageNumber, pagesAfter} = frame;
    return {place: {header, frames: frames + 1, sums: computed}, pageNumber, pagesAfter};
  }

  #hasCommitAfter(place: Place): boolean {
    let next = this.#frameAfter(place);
    while (next !== null && next.pagesAfter === 0) next = this.#frameAfter(next.place);
    return next !== null;
  }

  /** The first salt counts the rounds of a log. @throws CopyError */
  #refuseSkipped(place: Place, header: WalHeader): void {
    const [before, now] = [place.header.salts.readUInt32BE(0), header.salts.readUInt32BE(0)];
    if (now === (before + 1) >>> 0 && !this.#hasCommitAfter(place)) return;
    throw new CopyError(`the log of ${this.#path} was overwritten before all of it was read`);
  }
}
