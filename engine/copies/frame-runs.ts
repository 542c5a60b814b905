/**
 * The frames of a log that were read together. Those of a commit lie one behind the other, so one read gets several of
 * them, and each next one twice as many.
 */
import {FRAME_HEADER_BYTES} from '../../shared/sqlite-header.ts';
import {FRAME_RUN_MAX, FRAME_RUNS_MAX} from '../limits.ts';
import {frameOffset, type WalHeader} from '../storage/wal-frames.ts';
import {readAt} from './bytes.ts';

const FRAMES_FIRST = 8;

/** `at`: in the log. */
type Run = {readonly at: number; readonly bytes: Buffer};

export class FrameRuns {
  readonly #log: number;
  #runs: Run[] = [];
  #next = FRAMES_FIRST;

  /** @param log its descriptor */
  constructor(log: number) {
    this.#log = log;
  }

  /** A frame with its page; null: the log ends before it does. */
  frame(header: WalHeader, number: number): Buffer | null {
    const at = frameOffset(header, number);
    const length = FRAME_HEADER_BYTES + header.pageBytes;
    const known = this.bytes(at, length);
    if (known !== null) return known;
    const bytes = readAt(this.#log, at, this.#next * length);
    this.#next = Math.min(FRAME_RUN_MAX, 2 * this.#next);
    if (this.#runs.length === FRAME_RUNS_MAX) this.#runs.shift();
    this.#runs.push({at, bytes});
    return this.bytes(at, length);
  }

  /** Null: they were not read, or not kept. */
  bytes(at: number, length: number): Buffer | null {
    for (let i = this.#runs.length - 1; i >= 0; i--) {
      const run = this.#runs[i]!;
      const from = at - run.at;
      if (from >= 0 && from + length <= run.bytes.length) return run.bytes.subarray(from, from + length);
    }
    return null;
  }

  clear(): void {
    this.#runs = [];
    this.#next = FRAMES_FIRST;
  }
}
