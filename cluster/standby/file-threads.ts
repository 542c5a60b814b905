/**
 * Orders on files, on two threads: one for records, and one for whole files, which take seconds. A thread does its orders
 * one after the other. If one ends, its orders have failed, and the next order starts another thread.
 */
import {Worker} from 'node:worker_threads';
import {STANDBY_THREAD_MIB} from '../limits.ts';
import type {FileAnswer, FileOrder, FileWork} from './file-order.ts';

export class FileThreads implements FileWork {
  readonly #records: FileThread;
  readonly #wholeFiles: FileThread;

  /** @param thread its built file */
  constructor(thread = new URL('./files.thread.js', import.meta.url)) {
    this.#records = new FileThread(thread);
    this.#wholeFiles = new FileThread(thread);
  }

  run(order: FileOrder): Promise<FileAnswer> {
    const isWhole = ['seed', 'write_base', 'write_newest', 'set_place'].includes(order.kind);
    return (isWhole ? this.#wholeFiles : this.#records).run(order);
  }

  /** Call it when no order is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#records.close(), this.#wholeFiles.close()]);
  }
}

class FileThread {
  readonly #thread: URL;
  readonly #waiting: ((answer: FileAnswer) => void)[] = [];
  #worker: Worker | null = null;

  constructor(thread: URL) {
    this.#thread = thread;
  }

  run(order: FileOrder): Promise<FileAnswer> {
    return new Promise(resolve => {
      try {
        this.#worker ??= this.#started();
        this.#worker.postMessage(order);
        this.#waiting.push(resolve);
      } catch (error) {
        resolve({kind: 'failed', sentence: `a thread cannot be started: ${(error as Error).message}`});
      }
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #started(): Worker {
    const worker = new Worker(this.#thread, {resourceLimits: {maxOldGenerationSizeMb: STANDBY_THREAD_MIB}});
    let reason = 'it has ended';
    worker.on('message', (answer: FileAnswer) => this.#waiting.shift()?.(answer));
    worker.on('error', error => {
      reason = error.message;
    });
    worker.on('exit', () => {
      this.#worker = null;
      for (const resolve of this.#waiting.splice(0)) resolve({kind: 'failed', sentence: `a thread failed: ${reason}`});
    });
    return worker;
  }
}
