/**
 * Tells whether the file was closed in order. The mark is cleared in the first commit after an open and set at the close, so
 * a tenant that is only read is never written.
 */
import type {Writer} from '../commit/writer.ts';

export class CleanMark {
  readonly wasClean: boolean;
  readonly #writer: Writer;
  #set: boolean;

  constructor(writer: Writer) {
    this.#writer = writer;
    this.wasClean = writer.statements.meta.get('clean') === 1;
    this.#set = this.wasClean;
  }

  /** Inside a group, before its commit. */
  clear(writer: Writer): void {
    if (!this.#set) return;
    writer.statements.setMeta.run('clean', 0);
    this.#set = false;
    writer.onRollback(() => {
      this.#set = true;
    });
  }

  /** At the close, when no group is open. */
  set(): void {
    if (this.#set) return;
    this.#writer.statements.setMeta.run('clean', 1);
    this.#set = true;
  }
}
