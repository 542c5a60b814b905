/**
 * In-memory list of running tasks. Records of ended tasks are kept, up to 64 KiB each, so reading all of them before
 * each slice would cost more than the slice. A change counts from the write that makes it, and is undone if that write
 * is rolled back.
 */

import type {Writer} from '../../../../engine/commit/writer.ts';
import {assert} from '../../../../shared/assert.ts';
import {ServiceError} from '../../../../shared/errors.ts';

export type RunningTask = {readonly id: string; readonly created_at: number; readonly table: string};

export class RunningTasks {
  readonly #read: () => Iterable<RunningTask>;
  /** Null: not read yet. */
  #tasks: Map<string, RunningTask> | null = null;

  /** @param read reads them from the file, as the writer sees it. @throws op.storage_damaged 503 */
  constructor(read: () => Iterable<RunningTask>) {
    this.#read = read;
  }

  /** Oldest first. */
  get all(): RunningTask[] {
    return [...this.#known().values()].sort(byAge);
  }

  /** Call inside a write, before the record is stored. */
  note(writer: Writer, task: RunningTask, isRunning: boolean): void {
    const tasks = this.#known();
    const before = tasks.get(task.id);
    if (isRunning === (before !== undefined)) return;
    if (before === undefined) {
      tasks.set(task.id, task);
      writer.onRollback(() => {
        const wasThere = tasks.delete(task.id);
        assert(wasThere, 'changes of the list are undone in reverse order');
      });
    } else {
      tasks.delete(task.id);
      writer.onRollback(() => tasks.set(task.id, before));
    }
  }

  /** @throws op.storage_damaged 503 while they cannot be read: without the list, no task can be treated as ended */
  ids(): ReadonlySet<string> {
    return new Set(this.#readOnce().keys());
  }

  #known(): Map<string, RunningTask> {
    try {
      return this.#readOnce();
    } catch (caught) {
      if (caught instanceof ServiceError) return new Map(); // the whole table is damaged; retried next time
      throw caught;
    }
  }

  #readOnce(): Map<string, RunningTask> {
    this.#tasks ??= new Map(Array.from(this.#read(), task => [task.id, task]));
    return this.#tasks;
  }
}

type Aged = Pick<RunningTask, 'id' | 'created_at'>;

/** Oldest first; ids sort by time. */
function byAge(a: Aged, b: Aged): number {
  return a.created_at - b.created_at || (a.id < b.id ? -1 : 1);
}
