/**
 * Reads SQLite's write-ahead log frame by frame, as recovery will read it. SQLite ends at the first invalid frame and
 * silently drops the frames after it. That is correct for the torn end of a WAL, but loses acknowledged writes when a
 * bit has flipped in its middle. This module tells the two cases apart before SQLite opens the file.
 * `wal-frames.ts` has the layout of the log.
 *
 * The following is damage (decision 0012):
 * - A frame is invalid, and the commit that ends its transaction, or a later one, is continued by the frame after it. A
 *   transaction begins only after the one before is on disk, so the earlier transaction was acknowledged.
 * - The WAL ends before the last commit that its index (`-shm`) knows, which was in the WAL since this machine started.
 * - The first invalid frame, or the header, would be valid with one bit changed. A torn write does not look like that.
 *
 * Any other invalid frame is the end of a WAL that was being written: unfinished transactions, or frames of an older
 * round.
 */
import {closeSync, existsSync, openSync, readSync, statSync} from 'node:fs';
import {uptime} from 'node:os';
import {assert} from '../../shared/assert.ts';
import {FRAME_HEADER_BYTES, WAL_HEADER_BYTES} from '../../shared/sqlite-header.ts';
import {bitsBetween, flippedBit, type Sums, sumOver} from './wal-checksum.ts';
import {
  frameOffset,
  isSameSums,
  readFrame,
  readWalHeader,
  sumsAt,
  type WalFrame,
  type WalHeader,
} from './wal-frames.ts';

/**
 * Layout of the `-shm` file: two copies of the header of the index, then the number of frames already in the database
 * file.
 */
const INDEX_HEADER_BYTES = 48;

export type LogDamage = {
  /** In words, with the bytes. */
  finding: string;
  /** Length of the WAL up to the last commit before the damage: the part that remains if it is cut there. */
  soundBytes: number;
};

/** The committed state according to the index of the WAL. `inFile`: frames that the database file already has. */
type Index = {frames: number; inFile: number; salts: Buffer; isOfThisBoot: boolean};

/** Null: SQLite can open the file, and no acknowledged write is known to be missing. */
export function findLogDamage(databasePath: string): LogDamage | null {
  const path = `${databasePath}-wal`;
  const index = readIndex(`${databasePath}-shm`);
  const bytes = statSync(path, {throwIfNoEntry: false})?.size ?? 0;
  if (bytes < WAL_HEADER_BYTES + FRAME_HEADER_BYTES) {
    // After a power cut the index can be older than the close that emptied the WAL.
    if (index === null || !index.isOfThisBoot || index.frames <= index.inFile) return null;
    const how = existsSync(path) ? `has only ${bytes} bytes` : 'is missing';
    return {
      finding: `the log ${path} ${how}, and ${index.frames - index.inFile} committed pages were in it alone`,
      soundBytes: 0,
    };
  }
  const fd = openSync(path, 'r');
  try {
    return new Walk(fd, path, bytes, index).damage();
  } finally {
    closeSync(fd);
  }
}

class Walk {
  readonly #fd: number;
  readonly #path: string;
  readonly #bytes: number;
  readonly #index: Index | null;
  #header!: WalHeader;
  #frames = 0;
  #committed = 0;

  constructor(fd: number, path: string, bytes: number, index: Index | null) {
    this.#fd = fd;
    this.#path = path;
    this.#bytes = bytes;
    this.#index = index;
  }

  damage(): LogDamage | null {
    const header = readWalHeader(this.#fd);
    if (header === null) return this.#headerDamage();
    this.#header = header;
    this.#frames = Math.floor((this.#bytes - WAL_HEADER_BYTES) / (FRAME_HEADER_BYTES + header.pageBytes));
    let sums = header.sums;
    for (let number = 1; number <= this.#frames; number++) {
      const frame = this.#frame(number);
      const computed = frame.sumFrom(sums);
      if (!frame.hasSalts || !isSameSums(computed, frame.stored)) return this.#judge(number, frame, computed);
      sums = computed;
      if (frame.pagesAfter !== 0) this.#committed = number;
    }
    return this.#shorterThanIndex();
  }

  /** SQLite will end before this frame. */
  #judge(number: number, frame: WalFrame, computed: Sums): LogDamage | null {
    const later = this.#committedBehind(number, frame, computed);
    if (later !== null) return this.#found(number, `, and frame ${later} behind it was written after its commit`);
    const looksFlipped = frame.hasSalts
      ? flippedBit(computed, frame.stored, 2 + this.#header.pageBytes / 4)
      : isSameSums(computed, frame.stored) && bitsBetween(frame.salts, this.#header.salts) === 1;
    if (looksFlipped) return this.#found(number, ': one bit of it has changed');
    return this.#shorterThanIndex();
  }

  /**
   * A frame of a transaction that began after this frame's transaction was on disk; null: there is none. It must
   * continue directly from a commit: later frames that continue from each other may come from an older, unfinished
   * transaction.
   */
  #committedBehind(bad: number, frame: WalFrame, computed: Sums): number | null {
    let commit: readonly Sums[] = frame.hasSalts && frame.pagesAfter !== 0 ? [frame.stored, computed] : [];
    for (let number = bad + 1; number <= this.#frames; number++) {
      const next = this.#frame(number);
      if (next.hasSalts && commit.some(sums => isSameSums(next.sumFrom(sums), next.stored))) return number;
      commit = next.hasSalts && next.pagesAfter !== 0 ? [next.stored] : [];
    }
    return null;
  }

  #shorterThanIndex(): LogDamage | null {
    assert(this.#committed <= this.#frames, 'the last commit is in the log');
    const index = this.#index;
    // After a power cut the index can contain a commit that was not synced yet, and not acknowledged.
    if (index?.isOfThisBoot !== true || !index.salts.equals(this.#header.salts)) return null;
    // Even when the file has all frames: the remaining WAL would hide newer pages behind older ones.
    if (index.frames <= this.#committed) return null;
    return this.#found(this.#committed + 1, `, and ${index.frames} frames were committed`);
  }

  #headerDamage(): LogDamage | null {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    readSync(this.#fd, header, 0, WAL_HEADER_BYTES, 0);
    const stored = sumsAt(header, 24);
    const looksFlipped = [false, true].some(bigEndian =>
      flippedBit(sumOver([0, 0], header, 0, 24, bigEndian), stored, 6),
    );
    const index = this.#index;
    const isNeeded = index?.isOfThisBoot === true && index.frames > index.inFile;
    if (!looksFlipped && !isNeeded) return null;
    return {
      finding: `the header of the log ${this.#path} (bytes 0 to ${WAL_HEADER_BYTES - 1}) does not fit its checksum: nothing behind it would be read`,
      soundBytes: 0,
    };
  }

  #found(frame: number, why: string): LogDamage {
    assert(frame >= 1 && frame <= this.#frames + 1, `frame ${frame} of ${this.#frames} is examined`);
    const at = frameOffset(this.#header, frame);
    const end = Math.min(frameOffset(this.#header, frame + 1), this.#bytes) - 1;
    const soundBytes = frameOffset(this.#header, this.#committed + 1);
    assert(soundBytes <= at, 'what is sound precedes what is damaged');
    const what =
      at >= this.#bytes
        ? `the log ${this.#path} ends at byte ${this.#bytes}`
        : `frame ${frame} of the log ${this.#path} (bytes ${at} to ${end}) does not fit its checksum`;
    return {finding: `${what}${why}; its first ${soundBytes} bytes are whole`, soundBytes};
  }

  #frame(number: number): WalFrame {
    const frame = readFrame(this.#fd, this.#header, number);
    assert(frame !== null, `frame ${number} lies within the log`);
    return frame;
  }
}

/** Null: there is none, or it is not reliable. */
function readIndex(path: string): Index | null {
  const stat = statSync(path, {throwIfNoEntry: false});
  const bytes = Buffer.alloc(2 * INDEX_HEADER_BYTES + 4);
  if (stat === undefined || stat.size < bytes.length) return null;
  const fd = openSync(path, 'r');
  try {
    readSync(fd, bytes);
  } finally {
    closeSync(fd);
  }
  const header = bytes.subarray(0, INDEX_HEADER_BYTES);
  // Two copies, written one after the other: they differ after a crash in between.
  if (!header.equals(bytes.subarray(INDEX_HEADER_BYTES, 2 * INDEX_HEADER_BYTES))) return null;
  const isSet = header[12] === 1;
  const stored: Sums = [header.readUInt32LE(40), header.readUInt32LE(44)];
  if (!isSet || !isSameSums(sumOver([0, 0], header, 0, 40, false), stored)) return null;
  return {
    frames: header.readUInt32LE(16),
    inFile: bytes.readUInt32LE(2 * INDEX_HEADER_BYTES),
    salts: Buffer.from(header.subarray(32, 40)),
    isOfThisBoot: stat.mtimeMs > Date.now() - uptime() * 1000,
  };
}
