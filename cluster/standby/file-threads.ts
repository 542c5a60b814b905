/**
 * Orders on files, on three threads: one for records, one for whole files, which take seconds, and one for files whose order
 * took too long. A thread does one order after the other. If it ends, its order has failed, and the next order starts
 * another thread.
 *
 * A worker runs code of its tenant, and writes these files. So an order has a time, beyond which its thread is ended. The
 * orders of that file are done on the third thread from then on, until one has ended in time (decision 0133).
 */
import {lstatSync} from 'node:fs';
import {Worker} from 'node:worker_threads';
import {ORDER_BYTES_PER_MS, ORDER_MS, SLOW_ORDER_FACTOR, STANDBY_THREAD_MIB} from '../limits.ts';
import type {FileAnswer, FileOrder, FileWork} from './file-order.ts';

/** Longer ones end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export type FileThreadsParts = {
  /** Its built file. */
  readonly thread?: URL;
  /** Default: `ORDER_MS`. */
  readonly orderMs?: number;
};

export class FileThreads implements FileWork {
  readonly #orderMs: number;
  readonly #records: FileThread;
  readonly #wholeFiles: FileThread;
  readonly #slowFiles: FileThread;
  /** Paths of files whose newest order took too long. */
  readonly #slow = new Set<string>();

  constructor({thread = new URL('./files.thread.js', import.meta.url), orderMs = ORDER_MS}: FileThreadsParts = {}) {
    this.#orderMs = orderMs;
    this.#records = new FileThread(thread);
    this.#wholeFiles = new FileThread(thread);
    this.#slowFiles = new FileThread(thread);
  }

  async run(order: FileOrder): Promise<FileAnswer> {
    const {path} = order;
    const isSlow = this.#slow.has(path);
    const isWhole = ['seed', 'write_base', 'write_newest', 'set_place'].includes(order.kind);
    const thread = isSlow ? this.#slowFiles : isWhole ? this.#wholeFiles : this.#records;
    const inTimeMs = this.#orderMs + bytesOf(order) / ORDER_BYTES_PER_MS;
    const {answer, ms} = await thread.run(order, isSlow ? SLOW_ORDER_FACTOR * inTimeMs : inTimeMs);
    if (answer === null || ms > inTimeMs) this.#slow.add(path);
    else this.#slow.delete(path);
    return answer ?? {kind: 'failed', sentence: 'its file took too long'};
  }

  /** Call it when no order is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#records, this.#wholeFiles, this.#slowFiles].map(thread => thread.close()));
  }
}

/** `answer`: null if it took too long. `ms`: what the order took. */
type Ended = {readonly answer: FileAnswer | null; readonly ms: number};

type Waiting = {
  readonly order: FileOrder;
  readonly withinMs: number;
  readonly resolve: (ended: Ended) => void;
};

class FileThread {
  readonly #thread: URL;
  /** The first is under way. */
  readonly #waiting: Waiting[] = [];
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #startMs = 0;
  #isTooLong = false;

  constructor(thread: URL) {
    this.#thread = thread;
  }

  run(order: FileOrder, withinMs: number): Promise<Ended> {
    return new Promise(resolve => {
      this.#waiting.push({order, withinMs, resolve});
      if (this.#waiting.length === 1) this.#begin();
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #begin(): void {
    const next = this.#waiting[0];
    if (next === undefined) return;
    this.#startMs = performance.now();
    try {
      this.#worker ??= this.#started();
      this.#worker.postMessage(next.order);
    } catch (error) {
      this.#end({kind: 'failed', sentence: `a thread cannot be started: ${(error as Error).message}`});
      return;
    }
    this.#timer = setTimeout(() => this.#endThread(), Math.min(next.withinMs, TIMER_MS_MAX));
  }

  #endThread(): void {
    this.#isTooLong = true;
    void this.#worker?.terminate();
  }

  /** The order that is under way has ended. @param answer null: it took too long */
  #end(answer: FileAnswer | null): void {
    clearTimeout(this.#timer);
    this.#waiting.shift()?.resolve({answer, ms: performance.now() - this.#startMs});
    this.#begin();
  }

  #started(): Worker {
    const worker = new Worker(this.#thread, {resourceLimits: {maxOldGenerationSizeMb: STANDBY_THREAD_MIB}});
    let reason = 'it has ended';
    worker.on('message', (answer: FileAnswer) => {
      // Otherwise the thread ends, and the next order needs another one.
      if (!this.#isTooLong) this.#end(answer);
    });
    worker.on('error', error => {
      reason = error.message;
    });
    worker.on('exit', () => {
      const isTooLong = this.#isTooLong;
      [this.#worker, this.#isTooLong] = [null, false];
      this.#end(isTooLong ? null : {kind: 'failed', sentence: `a thread failed: ${reason}`});
    });
    return worker;
  }
}

/** What an order can read, as far as it is on disk: a file with holes seems to have more. */
function bytesOf(order: FileOrder): number {
  const paths = [order.path, `${order.path}-wal`];
  if (order.kind === 'seed' || order.kind === 'set_place') paths.push(order.base);
  if (order.kind === 'apply') {
    for (const record of order.records) {
      if (record.kind === 'pages' && typeof record.pages === 'string') paths.push(record.pages);
    }
  }
  return paths.map(path => 512 * (lstatSync(path, {throwIfNoEntry: false})?.blocks ?? 0)).reduce((a, b) => a + b, 0);
}
