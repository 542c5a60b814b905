/**
 * The process of isolates that a spare worker starts before it has a tenant, so that the first call of a tenant with
 * code does not wait until a process, a thread and an isolate have started. It has opened no file, and runs as the user
 * of the spare until its tenant is known.
 *
 *   none ──start──▶ waiting ──take──▶ of the tenant
 *                      └──end──▶ ended   (the tenant has no code)
 */
import type {IsolateProcess} from './isolate-process.ts';

let waiting: IsolateProcess | null = null;
let isOver = false;

export const spareIsolates = {
  /** Resolves when it waits for its tenant, or is not needed any longer. */
  async start(): Promise<void> {
    const [{IsolateProcess}, {parentWatch}] = await Promise.all([
      import('./isolate-process.ts'),
      import('../process/parent-watch.ts'),
    ]);
    const {command} = await parentWatch();
    if (isOver) return;
    waiting = new IsolateProcess({parentWatch: command});
    await waiting.warm();
  },

  /** Null: there is none, or it has ended. */
  take(): IsolateProcess | null {
    const taken = waiting;
    waiting = null;
    isOver = true;
    return taken?.isEnding === false ? taken : null;
  },

  /** To be called before this worker changes its user: afterwards it has no right to end the process. */
  end(): void {
    void spareIsolates.take()?.close();
  },
};
