/**
 * What was committed while queries were under way. A query reads a snapshot on its thread, and its result comes back later: it is
 * that of the newest commit only if none since its snapshot touches what it read. Keys of documents are kept for that, not the documents,
 * and only as long as a query is under way that began before.
 */
import {RECENT_CHANGES_MAX, RECENT_COMPARISONS_MAX} from '../../../shared/limits.ts';
import type {Change, Commit} from '../../commit/commit.ts';
import {
  ANY_TABLE,
  BY_CREATION,
  BY_ID,
  creationPlace,
  entryPlace,
  idPlace,
  oneByte,
  type PackedReadSet,
} from '../../reads/read-set.ts';

type Recent = Pick<Change, 'table' | 'doc' | 'id' | 'indexes' | 'isDamaged'> & {
  sequence: number;
  /** Of the document before and after, as far as it was there. */
  keys: readonly (readonly Buffer[])[];
};

export class RecentChanges {
  #changes: Recent[] = [];
  /** Nobody knows what was changed up to here. */
  #forgottenTo: number;

  constructor(sequence: number) {
    this.#forgottenTo = sequence;
  }

  add({changes, lastSequence}: Commit): void {
    if (this.#changes.length + changes.length > RECENT_CHANGES_MAX) {
      this.forget(lastSequence);
      return;
    }
    for (const {table, doc, id, indexes, isDamaged, before, after} of changes) {
      const keys = [before, after].filter(side => side !== null).map(side => side.keys);
      this.#changes.push({sequence: lastSequence, table, doc, id, indexes, isDamaged, keys});
    }
  }

  /** No query is under way that read an older state than this. */
  forget(sequence: number): void {
    this.#forgottenTo = Math.max(this.#forgottenTo, sequence);
    const kept = this.#changes.findIndex(change => change.sequence > sequence);
    this.#changes = kept === -1 ? [] : this.#changes.slice(kept);
  }

  /** Whether a commit behind `sequence` has touched this; true as well when that is not known, or takes long to find out. */
  mayTouch(readSet: PackedReadSet, sequence: number): boolean {
    if (sequence < this.#forgottenTo) return true;
    const from = this.#changes.findIndex(change => change.sequence > sequence);
    if (from === -1) return false;
    const {intervals, absentTables} = readSet;
    if ((this.#changes.length - from) * (intervals.length + absentTables.length) > RECENT_COMPARISONS_MAX) return true;
    return this.#changes.slice(from).some(change => touches(change, readSet));
  }
}

function touches(change: Recent, {intervals, absentTables}: PackedReadSet): boolean {
  const {table, doc, id, indexes, isDamaged, keys} = change;
  if (absentTables.includes(table.name)) return true;
  const lies = (place: Buffer, lower: string, upper: string) => {
    const at = oneByte(place);
    return lower <= at && at < upper;
  };
  return intervals.some(({table: number, index, lower, upper}) => {
    if (number !== table.number && number !== ANY_TABLE) return false;
    if (index === BY_ID) return lies(idPlace(id), lower, upper);
    if (isDamaged) return true;
    if (index === BY_CREATION) return lies(creationPlace(doc), lower, upper);
    const at = indexes.findIndex(one => one.number === index);
    return at !== -1 && keys.some(each => lies(entryPlace(each[at]!, doc), lower, upper));
  });
}
