/**
 * Records whether the file was closed in order, or has been checked since it was not. The mark is cleared in the first
 * commit after an open and set at the close, so a tenant that only serves reads is never written. The mark includes the
 * journal head at that time: a journal that ends earlier has lost its end, and a new record would reuse the sequence of
 * an acknowledged one.
 */
import {assert} from '../../shared/assert.ts';
import {storageDamaged} from '../storage/damage.ts';
import type {Writer} from './writer.ts';

const HEAD_KEY = 'journal_head';

export class CleanMark {
  readonly wasClean: boolean;
  readonly #writer: Writer;
  /** The next commit has to clear the mark. */
  isSet: boolean;
  /** The file was found sound at some time since the open. */
  #isSound: boolean;

  /** @throws op.storage_damaged 503 */
  constructor(writer: Writer) {
    this.#writer = writer;
    this.wasClean = writer.statements.meta.get('clean') === 1;
    const noted = writer.statements.meta.get(HEAD_KEY);
    const {sequence} = writer.head;
    if (noted !== undefined && (sequence < Number(noted) || (this.wasClean && sequence !== noted))) {
      throw storageDamaged({check: 'rows', stored: `the journal ends with record ${sequence}, and had ${noted}`});
    }
    this.isSet = this.wasClean;
    this.#isSound = this.wasClean;
  }

  /** Call it inside the group that finds it set, before its commit. */
  clear(writer: Writer): void {
    assert(this.isSet, 'a mark is cleared once');
    writer.statements.setMeta.run('clean', 0);
    this.isSet = false;
    writer.onRollback(() => {
      this.isSet = true;
    });
  }

  /** The check of a file that was not closed in order found no damage. */
  checked(): void {
    this.#isSound = true;
  }

  /** Call it at the close, when no group is open. A check that has not ended is repeated at the next open. */
  set(): void {
    if (this.isSet || !this.#isSound) return;
    this.#writer.statements.setMeta.run(HEAD_KEY, this.#writer.head.sequence);
    this.#writer.statements.setMeta.run('clean', 1);
    this.isSet = true;
  }
}
