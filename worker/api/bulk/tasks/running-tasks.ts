/**
 * Which tasks run, in memory. Records of tasks that ended are kept, and each may have 64 KiB: to read all of them before each
 * slice would cost more than the slice. A change counts from the write that makes it, and is undone when that is rolled back.
 */

import type {Writer} from '../../../../engine/commit/writer.ts';
import {ServiceError} from '../../../../shared/errors.ts';

export type RunningTask = {readonly id: string; readonly created_at: number; readonly table: string};

export class RunningTasks {
  readonly #read: () => Iterable<RunningTask>;
  /** Null: not read yet. */
  #tasks: Map<string, RunningTask> | null = null;

  /** @param read those in the file, as the writer sees it. @throws op.storage_damaged 503 */
  constructor(read: () => Iterable<RunningTask>) {
    this.#read = read;
  }

  /** The oldest first. */
  get all(): RunningTask[] {
    return [...this.#known().values()].sort(byAge);
  }

  /** Inside a write, before the record is stored. */
  note(writer: Writer, task: RunningTask, isRunning: boolean): void {
    const tasks = this.#known();
    const before = tasks.get(task.id);
    if (isRunning === (before !== undefined)) return;
    if (before === undefined) {
      tasks.set(task.id, task);
      writer.onRollback(() => tasks.delete(task.id));
    } else {
      tasks.delete(task.id);
      writer.onRollback(() => tasks.set(task.id, before));
    }
  }

  /** @throws op.storage_damaged 503 while they cannot be read: nothing may be taken for a task that has ended then */
  ids(): ReadonlySet<string> {
    return new Set(this.#readOnce().keys());
  }

  #known(): Map<string, RunningTask> {
    try {
      return this.#readOnce();
    } catch (caught) {
      if (caught instanceof ServiceError) return new Map(); // the table is broken as a whole; it is read again the next time
      throw caught;
    }
  }

  #readOnce(): Map<string, RunningTask> {
    this.#tasks ??= new Map(Array.from(this.#read(), task => [task.id, task]));
    return this.#tasks;
  }
}

type Aged = Pick<RunningTask, 'id' | 'created_at'>;

/** The oldest first; ids sort by time. */
function byAge(a: Aged, b: Aged): number {
  return a.created_at - b.created_at || (a.id < b.id ? -1 : 1);
}
