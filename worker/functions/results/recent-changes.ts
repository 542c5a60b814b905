/**
 * Recent commits, kept to check results of queries under way. A query reads a snapshot on its thread, and its result
 * comes back later. The result holds for the newest commit only if no commit since its snapshot touches what it read.
 * Only the keys of changed documents are kept, and only while a query is under way that began before the change.
 */

import type {Change, Commit, Side} from '../../../engine/commit/commit.ts';
import type {LiveCause} from '../../../engine/live/live-figures.ts';
import {type PackedReadSet, touches, type WrittenChange} from '../../../engine/reads/read-set.ts';
import type {Because} from '../../../shared/protocol/function-socket/server-message.ts';
import {RECENT_CHANGES_MAX, RECENT_COMPARISONS_MAX} from '../limits.ts';

type Recent = WrittenChange & {
  sequence: number;
  /** The newest sequence of its commit. */
  sequenceOfCommit: number;
  sequenceBefore: number;
};
/** The part of a change that names it. */
export type Cause = Pick<Change, 'table' | 'id' | 'sequence'>;

/** `until`: the newest sequence up to which nothing was touched. `change`: what touched it; null: unknown. */
export type Touch = {readonly until: number; readonly change: Cause | null};

export class RecentChanges {
  #changes: Recent[] = [];
  /** Changes up to this sequence are no longer known. */
  #forgottenTo: number;

  constructor(sequence: number) {
    this.#forgottenTo = sequence;
  }

  add({changes, firstSequence, lastSequence}: Commit): void {
    if (this.#changes.length + changes.length > RECENT_CHANGES_MAX) {
      this.forget(lastSequence);
      return;
    }
    const of = {sequenceOfCommit: lastSequence, sequenceBefore: firstSequence - 1};
    for (const {sequence, table, doc, id, indexes, isDamaged, before, after} of changes) {
      const written = {doc, id, indexes, before: keysOf(before), after: keysOf(after)};
      this.#changes.push({sequence, ...of, table, isDamaged, ...written});
    }
  }

  /** No query under way reads a state older than this. */
  forget(sequence: number): void {
    this.#forgottenTo = Math.max(this.#forgottenTo, sequence);
    const kept = this.#changes.findIndex(change => change.sequenceOfCommit > sequence);
    this.#changes = kept === -1 ? [] : this.#changes.slice(kept);
  }

  /**
   * Whether a commit after `sequence` touched this read set; also true when that is unknown, or would take long to find
   * out.
   */
  mayTouch(readSet: PackedReadSet, sequence: number): boolean {
    return this.firstTouch(readSet, sequence) !== null;
  }

  /** The first change after `sequence` that touched this; null: none. */
  firstTouch(readSet: PackedReadSet, sequence: number): Touch | null {
    if (sequence < this.#forgottenTo) return {until: sequence, change: null};
    const from = this.#changes.findIndex(change => change.sequenceOfCommit > sequence);
    if (from === -1) return null;
    const {intervals, absentTables} = readSet;
    if ((this.#changes.length - from) * (intervals.length + absentTables.length) > RECENT_COMPARISONS_MAX) {
      return {until: sequence, change: null};
    }
    const change = this.#changes.slice(from).find(one => touches(one, readSet));
    return change === undefined ? null : {until: change.sequenceBefore, change};
  }
}

function keysOf(side: Side | null): Pick<Side, 'keys'> | null {
  return side === null ? null : {keys: side.keys};
}

/** Why a subscribed query runs again, in the form that clients get. */
export function reasonOf(change: Cause | null): Because {
  if (change === null) return {cause: 'unknown'};
  return {cause: 'written', ts: change.sequence, table: change.table.name, id: change.id};
}

/** The same, as the list of live queries has it. */
export function causeFrom(because: Because): LiveCause {
  if (because.cause !== 'written') return because;
  const {ts: sequence, table, id} = because;
  return {cause: 'written', sequence, table, id};
}
