/**
 * Assigns actions to threads, and passes their calls to the main thread on to the handlers: other functions, the
 * scheduler, the client of an HTTP action. Many actions share a thread, because they mostly wait; a second thread
 * starts under load.
 *
 * Everything about an action except its start crosses one port per thread, so its log lines, calls and outcome stay in
 * order.
 */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {MessagePort} from 'node:worker_threads';
import type {Piscina} from 'piscina';
import {errorOfThread} from '../../../engine/storage/damage.ts';
import {assert} from '../../../shared/assert.ts';
import {overloaded, ServiceError, tenantClosing} from '../../../shared/errors.ts';
import type {Outcome, Refused} from '../execution.ts';
import {
  ACTION_ARGUMENTS_CHARS_MAX,
  ACTION_CPU_MS_MAX,
  ACTION_MS_MAX,
  ACTION_THREAD_HEAP_MB,
  ACTION_THREADS_MAX,
  ACTIONS_MAX,
  FUNCTION_IDLE_MS,
} from '../limits.ts';
import type {ProcessMemory} from '../process-memory.ts';
import type {ActionAnswers} from './action-link.ts';
import type {
  ActionRequest,
  ActionTask,
  ActionThreadSettings,
  FromThread,
  ThreadReady,
  ToThread,
} from './action-message.ts';
import {OUT_OF_MEMORY, UNAVAILABLE} from './action-outcome.ts';

export type ActionPoolOptions = {
  /** Null: `open` names it before the first action. */
  databasePath: string | null;
  memory: ProcessMemory;
  actionMsMax?: number;
  actionCpuMsMax?: number;
  thread?: string;
};

type UnderWay = {
  request: ActionRequest;
  answers: ActionAnswers;
  /** Null until its thread has begun it. */
  port: MessagePort | null;
  cancelled: string | null;
  settle: (outcome: Outcome | Refused) => void;
};

type Thread = {port: MessagePort; rested: PromiseWithResolvers<void>};
type Weighing = {weighing: number; left: number; action: number | null; bytes: number};

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'action.thread.js');

export class ActionPool {
  readonly #options: ActionPoolOptions;
  #databasePath: string | null;
  #pool: Promise<Piscina<ActionTask, void>> | null = null;
  readonly #underWay = new Map<number, UnderWay>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #threads = new Set<Thread>();
  /** The largest actions reported so far, while not all threads have answered. */
  #weighing: Weighing | null = null;
  #weighings = 0;
  #lastAction = 0;
  #argumentChars = 0;
  #closed = false;

  constructor(options: ActionPoolOptions) {
    this.#options = options;
    this.#databasePath = options.databasePath;
    options.memory.add(this);
  }

  open(databasePath: string): void {
    this.#databasePath = databasePath;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /**
   * @param signal cancels it
   * @throws session.overloaded 503; session.outcome_unknown if its thread died; op.storage_damaged 503: its code is not
   * run
   */
  async run(request: ActionRequest, answers: ActionAnswers, signal?: AbortSignal): Promise<Outcome> {
    if (this.#closed) throw tenantClosing();
    if (this.#underWay.size >= ACTIONS_MAX) throw overloaded(`${ACTIONS_MAX} actions are under way; try again shortly`);
    if (this.#argumentChars + request.args.length > ACTION_ARGUMENTS_CHARS_MAX) {
      throw overloaded('the actions under way have too large arguments; try again shortly');
    }
    this.#options.memory.check();
    const chars = request.args.length;
    this.#argumentChars += chars;
    const action = ++this.#lastAction;
    const {promise, resolve} = Promise.withResolvers<Outcome | Refused>();
    const underWay: UnderWay = {request, answers, port: null, cancelled: null, settle: resolve};
    this.#underWay.set(action, underWay);
    const cancel = () => this.#cancel(action, 'The action was cancelled');
    signal?.addEventListener('abort', cancel);
    let outcome: Outcome | Refused;
    try {
      // The task ends after the outcome was sent; the outcome can arrive later, on the other port.
      outcome = await Promise.race([promise, this.#task({action, request}).then(() => promise)]);
    } catch (cause) {
      throw new ServiceError('session.outcome_unknown', 'the action did not end; it may have taken effect', undefined, {
        cause,
      });
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#underWay.delete(action);
      this.#argumentChars -= chars;
    }
    if ('refused' in outcome) throw errorOfThread(outcome.refused);
    return outcome;
  }

  /**
   * Running actions fail. A thread must not be ended while one of its isolates runs: isolated-vm would wait forever.
   */
  async close(): Promise<void> {
    this.#closed = true;
    for (const action of this.#underWay.keys()) this.#cancel(action, UNAVAILABLE);
    const pool = await this.#pool;
    await Promise.allSettled(this.#tasks);
    await Promise.all([...this.#threads].map(rested));
    await pool?.destroy();
  }

  releaseIdle(unusedMs: number): void {
    for (const {port} of this.#threads) send(port, {type: 'releaseIdle', unusedMs});
  }

  /** Requests the largest action of each thread. Threads that have not answered by the next call are left out. */
  endLargest(): void {
    if (this.#weighing !== null) {
      this.#endHeaviest();
      return;
    }
    const weighing = ++this.#weighings;
    this.#weighing = {weighing, left: this.#threads.size, action: null, bytes: 0};
    for (const {port} of this.#threads) send(port, {type: 'weigh', weighing});
  }

  #weighed({weighing, action, bytes}: FromThread & {type: 'heaviest'}): void {
    const all = this.#weighing;
    if (all === null || all.weighing !== weighing) return;
    all.left--;
    if (bytes > all.bytes) Object.assign(all, {action, bytes});
    if (all.left === 0) this.#endHeaviest();
  }

  #endHeaviest(): void {
    const action = this.#weighing?.action ?? null;
    this.#weighing = null;
    if (action !== null) this.#cancel(action, OUT_OF_MEMORY);
  }

  /** Resolves when the thread no longer works on the action. */
  async #task(task: ActionTask): Promise<void> {
    this.#pool ??= this.#open();
    const running = (await this.#pool).run(task);
    this.#tasks.add(running);
    await running.finally(() => this.#tasks.delete(running));
  }

  #cancel(action: number, message: string): void {
    const underWay = this.#underWay.get(action);
    if (underWay === undefined) return;
    underWay.cancelled = message;
    if (underWay.port !== null) send(underWay.port, {type: 'cancel', action, message});
  }

  /** Loaded with the first action: most awake tenants run none. */
  async #open(): Promise<Piscina<ActionTask, void>> {
    const {Piscina} = await import('piscina');
    const {actionMsMax = ACTION_MS_MAX, actionCpuMsMax = ACTION_CPU_MS_MAX} = this.#options;
    const databasePath = this.#databasePath;
    assert(databasePath !== null, 'the file is known before the first action');
    const settings: ActionThreadSettings = {databasePath, actionMsMax, actionCpuMsMax};
    const pool = new Piscina<ActionTask, void>({
      filename: this.#options.thread ?? THREAD,
      workerData: settings,
      minThreads: 0,
      maxThreads: ACTION_THREADS_MAX,
      concurrentTasksPerWorker: Math.ceil(ACTIONS_MAX / ACTION_THREADS_MAX),
      idleTimeout: FUNCTION_IDLE_MS,
      resourceLimits: {maxOldGenerationSizeMb: ACTION_THREAD_HEAP_MB},
      // A thread that waits inside Atomics.wait would receive neither port messages nor timers.
      atomics: 'disabled',
    });
    pool.on('message', (message: ThreadReady) => this.#listen(message.actionPort));
    return pool;
  }

  #listen(port: MessagePort): void {
    const thread: Thread = {port, rested: Promise.withResolvers<void>()};
    this.#threads.add(thread);
    port.on('message', (message: FromThread) => this.#received(thread, message));
    port.on('close', () => {
      this.#threads.delete(thread);
      thread.rested.resolve();
    });
    // The pool keeps the process alive while it has work.
    port.unref();
  }

  #received(thread: Thread, message: FromThread): void {
    if (message.type === 'rested') thread.rested.resolve();
    else if (message.type === 'heaviest') this.#weighed(message);
    else this.#said(thread.port, message);
  }

  #said(port: MessagePort, message: Exclude<FromThread, {type: 'rested' | 'heaviest'}>): void {
    const underWay = this.#underWay.get(message.action);
    if (underWay === undefined) return;
    switch (message.type) {
      case 'begun':
        underWay.port = port;
        // The thread has its own copy, so that large arguments are not held twice while the action waits.
        underWay.request.args = '';
        if (underWay.cancelled !== null) this.#cancel(message.action, underWay.cancelled);
        return;
      case 'log':
        underWay.answers.log(message.line);
        return;
      case 'outcome':
        underWay.settle(message.outcome);
        return;
      case 'call':
        void this.#answer(port, underWay, message);
    }
  }

  async #answer(port: MessagePort, {answers}: UnderWay, message: FromThread & {type: 'call'}): Promise<void> {
    const {action, call, operation, parameters, bytes} = message;
    send(port, {type: 'answer', action, call, ...(await answers.answer(operation, parameters, bytes))});
  }
}

/** Resolves when the thread has released its isolates, or has ended. */
function rested({port, rested}: Thread): Promise<void> {
  port.ref();
  send(port, {type: 'rest'});
  return rested.promise;
}

function send(port: MessagePort, message: ToThread): void {
  port.postMessage(message);
}
