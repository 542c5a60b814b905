/**
 * What the capture thread does: takes durable commits at a steady pace, or at once when a checkpoint waits for them;
 * removes what the receiver has confirmed; makes a base when the receiver requests one.
 *
 *   idle ──a commit──▶ pausing ──a quarter of the interval, or a request──▶ taken ──▶ idle
 *
 * While sets wait for a receiver that lags, each next set has more commits, so their number stays small.
 */
import type {CopySettings} from '../../shared/ipc/control.ts';
import {
  BASE_RETRY_MS,
  BASE_RETRY_MS_MAX,
  CAPTURE_EVERY_MS_MAX,
  CAPTURE_IDLE_MS,
  CAPTURES_PER_INTERVAL,
  SPOOL_SETS_PER_DOUBLING,
} from '../limits.ts';
import {Capture, type FileState} from './capture.ts';
import type {CaptureLink} from './capture-link.ts';
import type {Disk} from './disk.ts';
import type {LogReader} from './log-reader.ts';
import {Spool} from './spool.ts';

export type CaptureSettings = CopySettings & {
  /** Directory of the spool. */
  spool: string;
  file: FileState;
};

export type CaptureParts = {
  log: LogReader;
  link: CaptureLink;
  /** Page sets, or a base that was being made, did not fit. */
  onDropped: () => void;
  now?: () => number;
  disk?: Disk;
};

export class CaptureLoop {
  readonly #settings: CaptureSettings;
  readonly #link: CaptureLink;
  readonly #onDropped: () => void;
  readonly #now: () => number;
  readonly #spool: Spool;
  readonly #capture: Capture;
  #isIdle = true;
  #nextTakeMs = 0;
  #nextBaseMs = 0;
  #basePauseMs = BASE_RETRY_MS;

  constructor(settings: CaptureSettings, parts: CaptureParts) {
    const {log, link, onDropped, now = performance.now.bind(performance), disk} = parts;
    this.#settings = settings;
    this.#link = link;
    this.#onDropped = onDropped;
    this.#now = now;
    this.#spool = new Spool(settings.spool, settings.spoolBytesMax, disk);
    this.#capture = new Capture(log, this.#spool, settings.file, {checkLog: link.checkGoesOn, disk});
    link.taken(this.#capture.commit);
  }

  /** Returns when the capture has ended. */
  run(): void {
    while (!this.#link.hasEnded) {
      const {wakes} = this.#link;
      const waitMs = this.turn();
      if (waitMs > 0) this.#link.sleep(wakes, waitMs, this.#isIdle ? this.#capture.commit : null);
    }
  }

  /** @returns how long nothing is to be done, in milliseconds */
  turn(): number {
    const now = this.#now();
    const durable = this.#link.durable;
    const isNew = durable.commit > this.#capture.commit;
    if (isNew && this.#isIdle) this.#nextTakeMs = now + this.#pauseMs;
    this.#isIdle = !isNew;
    if (this.#link.takeRequest() || now >= this.#nextTakeMs) this.#take();
    if (this.#capture.isBaseUnderWay) {
      if (this.#capture.makeBase()) [this.#nextBaseMs, this.#basePauseMs] = [0, BASE_RETRY_MS];
      else if (!this.#capture.isBaseUnderWay) this.#baseFailed();
      return 0;
    }
    return this.#isIdle ? CAPTURE_IDLE_MS : this.#nextTakeMs - this.#now();
  }

  #take(): void {
    const hadPosition = !this.#capture.isBaseDue;
    this.#capture.take(this.#link.durable);
    this.#link.taken(this.#capture.commit);
    if (hadPosition && this.#capture.isBaseDue) this.#onDropped();
    this.#isIdle = true;
    this.#spool.removeConfirmed();
    const now = this.#now();
    this.#nextTakeMs = now + this.#pauseMs;
    if (this.#capture.isBaseUnderWay || now < this.#nextBaseMs || !this.#spool.isBaseWanted) return;
    this.#nextBaseMs = now + BASE_RETRY_MS;
    if (this.#capture.beginBase() !== null) this.#onDropped();
  }

  /** It filled the disk: another one would do so too. */
  #baseFailed(): void {
    this.#basePauseMs = Math.min(2 * this.#basePauseMs, BASE_RETRY_MS_MAX);
    this.#nextBaseMs = this.#now() + this.#basePauseMs;
    this.#onDropped();
  }

  get #pauseMs(): number {
    const everyMs = Math.min(this.#settings.everyMs, CAPTURE_EVERY_MS_MAX) / CAPTURES_PER_INTERVAL;
    return everyMs * 2 ** (this.#spool.length / SPOOL_SETS_PER_DOUBLING);
  }
}
