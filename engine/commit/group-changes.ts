/**
 * The changes of documents that a group has made, in order, and how they get into the file: at once, or deferred.
 *
 * What can fail until its end needs a savepoint, which costs two statements and a copy of each page that it changes. The
 * run of a function (`attempt.ts`) needs none as long as its changes wait in memory until it has succeeded: schema, keys
 * and unique indexes are checked when a change is made, so after that only the disk can refuse it, which fails the whole
 * group. When something reads or writes the file meanwhile (a query, a unique index, a job), the changes so far are
 * stored first, in a savepoint, and the rest of the run continues in it.
 *
 * Invariant: between two writes all changes are in the file.
 */
import {assert} from '../../shared/assert.ts';
import {DEFERRED_CHANGES_MAX} from '../limits.ts';
import {documentChecksum} from '../storage/checksum.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Statements} from '../storage/statements.ts';
import type {Change} from './commit.ts';

export class GroupChanges {
  readonly #statements: Statements;
  #all: Change[] = [];
  /** The first so many of `all` are in the file. */
  #stored = 0;
  #isDeferring = false;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  get all(): readonly Change[] {
    return this.#all;
  }

  add(change: Change): void {
    this.#all.push(change);
    if (!this.#isDeferring) this.store();
    else if (this.#all.length - this.#stored >= DEFERRED_CHANGES_MAX) this.storeDeferred();
  }

  /** The caller has stored it. */
  addStored(change: Change): void {
    assert(this.#stored === this.#all.length, 'changes are stored in order');
    this.#all.push(change);
    this.#stored++;
  }

  /** The file is as it was with so many changes. */
  returnTo(count: number): void {
    this.#all.length = count;
    this.#stored = count;
  }

  /** The group has been committed or rolled back; a commit keeps the array. */
  endGroup(): void {
    this.#all = [];
    this.#stored = 0;
  }

  /** A part of a write begins that can fail until its end, and has no savepoint. */
  defer(): void {
    assert(this.#stored === this.#all.length, 'earlier writes are stored');
    this.#isDeferring = true;
  }

  /** Before the file is read or written: stores what is deferred. The part can still fail, so it has a savepoint now. */
  storeDeferred(): void {
    if (!this.#isDeferring) return;
    this.#isDeferring = false;
    this.#statements.savepoint.run();
    this.store();
  }

  /** The part has succeeded or failed. @returns whether it deferred until now, so that it has no savepoint */
  endDeferring(): boolean {
    const isDeferring = this.#isDeferring;
    this.#isDeferring = false;
    return isDeferring;
  }

  /** The document as a deferred change leaves it; null: deleted; undefined: no deferred change concerns it. */
  deferred(id: string): DocumentRow | null | undefined {
    for (let i = this.#all.length - 1; i >= this.#stored; i--) {
      const change = this.#all[i]!;
      if (change.id === id) return change.after?.row ?? null;
    }
    return undefined;
  }

  /** Stores the changes that are not in the file yet. */
  store(): void {
    while (this.#stored < this.#all.length) this.#storeOne(this.#all[this.#stored++]!);
  }

  #storeOne({doc, indexes, before, after}: Change): void {
    const {insertDocument, updateDocument, deleteDocument, insertEntry, deleteEntry} = this.#statements;
    if (after === null) {
      const {changes} = deleteDocument.run(doc);
      assert(changes === 1, `document ${doc} is there to be deleted`);
      for (const [i, index] of indexes.entries()) deleteEntry.run(index.number, before!.keys[i]!, doc);
      return;
    }
    const {row, keys} = after;
    if (before === null) {
      insertDocument.run(doc, row.id, row.created, row.updated, row.body, row.flags, documentChecksum(row));
      for (const [i, index] of indexes.entries()) insertEntry.run(index.number, keys[i]!, doc);
      return;
    }
    const {changes} = updateDocument.run(row.updated, row.body, row.flags, documentChecksum(row), doc);
    assert(changes === 1, `document ${doc} is there to be replaced`);
    for (const [i, index] of indexes.entries()) {
      const [keyBefore, key] = [before.keys[i]!, keys[i]!];
      if (keyBefore.equals(key)) continue;
      deleteEntry.run(index.number, keyBefore, doc);
      insertEntry.run(index.number, key, doc);
    }
  }
}
