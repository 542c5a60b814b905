/**
 * The capture of a tenant, as its serving thread sees it: publishes each durable commit to the capture thread, and says
 * when the log may be changed.
 *
 *   capturing ── the thread has failed, or has not taken the log in time ──▶ given up: the spool is dropped
 *    │  ▲                                                                        │ the thread has ended, and a pause
 *    │  └───────────── the log may be changed, so all of it is durable ────── due ◀──┘
 *    └── close: everything is taken ──▶ ended
 *
 * Given up, the tenant serves and writes as before, and has no copies until the capture begins again, with a base. A
 * thread that is late cannot spoil the spool then: it finishes nothing once `end` was called.
 */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Worker} from 'node:worker_threads';
import {backOffMs} from '../../shared/back-off.ts';
import type {CopySettings} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {SPOOL_DIRECTORY} from '../../shared/tenant-directory.ts';
import {
  CAPTURE_AGAIN_MS,
  CAPTURE_AGAIN_MS_MAX,
  CAPTURE_CLOSE_MS,
  CAPTURE_FLUSH_MS,
  CAPTURE_FLUSH_POLL_MS,
  CAPTURE_HEAP_MB,
  CAPTURES_MAX,
} from '../limits.ts';
import type {CaptureThreadData, FromCaptureThread} from './capture.thread.ts';
import type {FileState} from './capture.ts';
import {CaptureLink} from './capture-link.ts';
import {dropPosition, removeSpool} from './spool-files.ts';

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'capture.thread.js');

export type TenantCopiesParts = {
  /** The tenant's file, which the writer has open. */
  path: string;
  settings: CopySettings;
  /** Of the file now. It is called while all of the log is durable. */
  file: () => FileState;
  metrics: WorkerMetrics;
  log: Logger;
};

/** Of a durable commit, as its group knows it. */
type DurableFacts = {readonly lastSequence: number; readonly committedMs: number};

export class TenantCopies {
  readonly #parts: TenantCopiesParts;
  readonly #thread: string;
  readonly #againMs: number;
  readonly #spool: string;
  #link!: CaptureLink;
  #durable!: number;
  #isGivenUp = false;
  #hasEnded = false;
  #isClosed = false;
  /** Captures that were given up. */
  #givenUp = 0;
  #again: NodeJS.Timeout | null = null;
  #onDue: () => void = () => undefined;

  /** The tenant is served without copies: what it commits will be in no page set. @param path of its file */
  static none(path: string): null {
    removeSpool(join(dirname(path), SPOOL_DIRECTORY));
    return null;
  }

  constructor(parts: TenantCopiesParts, {thread = THREAD, againMs = CAPTURE_AGAIN_MS} = {}) {
    this.#parts = parts;
    this.#thread = thread;
    this.#againMs = againMs;
    this.#spool = join(dirname(parts.path), SPOOL_DIRECTORY);
    this.begin();
  }

  /** Begins the capture, at the start or when it is due again. The log may be changed, and all of it is durable. */
  begin(): void {
    const {path, settings, metrics, log} = this.#parts;
    const file = this.#parts.file();
    const link = new CaptureLink();
    this.#link = link;
    this.#durable = file.commit;
    this.#isGivenUp = false;
    this.#hasEnded = false;
    link.publish(file);
    const data: CaptureThreadData = {path, settings: {...settings, spool: this.#spool, file}, memory: link.memory};
    const worker = new Worker(this.#thread, {
      workerData: data,
      resourceLimits: {maxOldGenerationSizeMb: CAPTURE_HEAP_MB},
      // Its descriptors stay open when it ends.
      trackUnmanagedFds: false,
    });
    worker.on('message', (_: FromCaptureThread) => {
      metrics.count('svc_copies_dropped_total');
      log.warn('page sets for copies did not fit the spool and were dropped: a base is due');
    });
    worker.on('error', error => {
      if (link === this.#link) this.#giveUp('the capture thread failed', error);
    });
    worker.on('exit', () => {
      this.#hasEnded = true;
      this.#beginLater();
    });
    worker.unref();
  }

  /** @param onDue called when a capture that was given up can begin again: call `begin` at the next checkpoint */
  whenDue(onDue: () => void): void {
    this.#onDue = onDue;
  }

  /** The newest durable commit; there is no newer one in the log. */
  durable(commit: number, {lastSequence: sequence, committedMs: timeMs}: DurableFacts): void {
    this.#durable = commit;
    this.#link.publish({commit, sequence, timeMs});
  }

  /** A checkpoint comes soon. */
  request(): void {
    if (!this.#isGivenUp) this.#link.request();
  }

  /** Blocks for up to `ms`. @returns whether the log may be changed, because every durable commit was taken */
  isTaken(ms: number): boolean {
    if (this.#isGivenUp || this.#link.waitTaken(this.#durable, 0)) return true;
    this.#link.request();
    return this.#link.waitTaken(this.#durable, ms);
  }

  /** The log cannot wait any longer. */
  giveUp(): void {
    this.#giveUp('the capture thread is too slow, or has ended', null);
  }

  /** Resolves when every commit that is durable now is in the spool, or cannot be. A pause after a failure ends. */
  async flush(): Promise<void> {
    if (this.#again !== null) {
      clearTimeout(this.#again);
      this.#again = null;
      this.#onDue();
    }
    const commit = this.#durable;
    const endsAt = performance.now() + CAPTURE_FLUSH_MS;
    this.request();
    while (!this.#isGivenUp && !this.#link.waitTaken(commit, 0) && performance.now() < endsAt) {
      await new Promise(resolve => setTimeout(resolve, CAPTURE_FLUSH_POLL_MS));
    }
  }

  /** Takes the last commits, blocking. Afterwards the log may be changed. */
  close(commit: number, facts: DurableFacts): void {
    this.#isClosed = true;
    if (this.#again !== null) clearTimeout(this.#again);
    this.#again = null;
    this.durable(commit, facts);
    if (!this.isTaken(CAPTURE_CLOSE_MS)) this.giveUp();
    this.#link.end();
  }

  #giveUp(reason: string, error: unknown): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#givenUp++;
    this.#link.end();
    const {metrics, log} = this.#parts;
    metrics.count('svc_copies_given_up_total');
    const until = this.#givenUp < CAPTURES_MAX ? 'for a while' : 'until its next open';
    log.error(`${reason}: there are no copies of the tenant ${until}`, {error});
    try {
      dropPosition(this.#spool);
    } catch (caught) {
      log.error('the spool could not be dropped', {error: caught});
    }
    this.#beginLater();
  }

  /** Not before the thread has ended: only one may use the spool. */
  #beginLater(): void {
    if (!this.#isGivenUp || !this.#hasEnded || this.#isClosed || this.#givenUp >= CAPTURES_MAX) return;
    const pauseMs = backOffMs(this.#againMs, CAPTURE_AGAIN_MS_MAX, this.#givenUp - 1);
    this.#again = setTimeout(() => {
      this.#again = null;
      this.#onDue();
    }, pauseMs).unref();
  }
}
