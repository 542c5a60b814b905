/**
 * A thread that answers tasks in their order. It starts with its first task. If it ends by itself, its open tasks fail
 * with the reason, and the next task starts another thread.
 */
import {type MessagePort, Worker} from 'node:worker_threads';

/** What a thread sends for each task. */
type Answer<Result> = {result: Result} | {error: unknown};

export class TaskThread<Task, Result> {
  readonly #start: () => Worker;
  #worker: Worker | null = null;
  /** The oldest is first. */
  readonly #open: PromiseWithResolvers<Result>[] = [];

  /** @param settings its `workerData` */
  constructor(file: string, settings: object) {
    this.#start = () => new Worker(file, {workerData: settings});
  }

  get isBusy(): boolean {
    return this.#open.length > 0;
  }

  run(task: Task): Promise<Result> {
    const answer = Promise.withResolvers<Result>();
    this.#worker ??= this.#started();
    this.#open.push(answer);
    this.#worker.postMessage(task);
    return answer.promise;
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    this.#failed(worker, new Error('the thread was ended'));
    await worker?.terminate();
  }

  #started(): Worker {
    const worker = this.#start();
    worker.on('message', (answer: Answer<Result>) => {
      if (worker !== this.#worker) return;
      const open = this.#open.shift();
      if ('error' in answer) open?.reject(answer.error);
      else open?.resolve(answer.result);
    });
    worker.on('error', error => this.#failed(worker, error));
    worker.on('exit', code => this.#failed(worker, new Error(`the thread ended with ${code}`)));
    return worker;
  }

  /** An event of an earlier thread has no effect. */
  #failed(worker: Worker | null, error: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    for (const open of this.#open.splice(0)) open.reject(error);
  }
}

/** The thread's side. An error of `run` is the answer to its task. */
export function answerTasks<Task, Result>(port: MessagePort, run: (task: Task) => Result): void {
  port.on('message', (task: Task) => port.postMessage(answered(run, task)));
}

function answered<Task, Result>(run: (task: Task) => Result, task: Task): Answer<Result> {
  try {
    return {result: run(task)};
  } catch (error) {
    return {error};
  }
}
