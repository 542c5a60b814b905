/**
 * The process of isolates that a spare worker starts before it has a tenant, so that the first call of a tenant with
 * code does not wait until a process, a thread and an isolate have started. It has opened no file.
 *
 *   none ──start──▶ waiting ──become──▶ runs as the user of the tenant ──take──▶ belongs to the tenant
 *                      └──────────────── end: the tenant has no code ──▶ ended
 *
 * It must never run as root while its worker has a tenant: code that escapes its isolate there could send it messages. So
 * `become` or `end` is called before the worker changes its own user and opens the tenant.
 */
import type {WorkerUser} from '../../../shared/ipc/control.ts';
import type {Logger} from '../../../shared/log.ts';
import {SPARE_ISOLATES_MS_MAX} from '../limits.ts';
import type {IsolateProcess} from './isolate-process.ts';

let waiting: IsolateProcess | null = null;
let isOver = false;

export const spareIsolates = {
  /** Resolves when it waits for its tenant, or is not needed any longer. */
  async start(log: Logger): Promise<void> {
    const [{IsolateProcess}, {parentWatch}] = await Promise.all([
      import('./isolate-process.ts'),
      import('../process/parent-watch.ts'),
    ]);
    const {command} = await parentWatch();
    if (isOver) return;
    const process = new IsolateProcess({parentWatch: command});
    waiting = process;
    const late = setTimeout(() => {
      if (waiting !== process) return;
      log.warn('a process of isolates was not ready in time');
      spareIsolates.end();
    }, SPARE_ISOLATES_MS_MAX);
    await process.warm();
    clearTimeout(late);
    if (process.isEnding && !isOver) log.warn('a process of isolates ended before it had a tenant');
  },

  /** If the process starts later, it starts as the user that the worker has then. */
  become(user: WorkerUser): void {
    waiting?.become(user);
  },

  /** Null: there is none, or it has ended. */
  take(): IsolateProcess | null {
    const taken = waiting;
    waiting = null;
    isOver = true;
    return taken?.isEnding === false ? taken : null;
  },

  end(): void {
    void spareIsolates.take()?.close();
  },
};
