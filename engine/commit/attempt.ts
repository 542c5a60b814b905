/**
 * Parts of a write that are rolled back without the rest of it: the run of a function, scheduled work that fails, and a
 * dry run. They come first in their write, so everything that it has done is theirs.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {Cause} from './cause.ts';
import {endsGroup} from './open-group.ts';
import type {Mark, Writer} from './writer.ts';

/** The run of a job or a cron tick. */
export type Execution = {readonly id: string; readonly cause: Cause};

/** `checksFirst`: it throws only before its first change, so nothing of it has to be rolled back. */
export type Attempted = {readonly checksFirst: boolean; readonly run: () => void};

/** Makes a change that can fail without failing the write: a `ServiceError` is returned, and the change rolled back. */
export function attempt(writer: Writer, execution: Execution, {checksFirst, run}: Attempted): ServiceError | null {
  writer.executing(execution.id, execution.cause);
  const mark = writer.mark();
  try {
    if (checksFirst) run();
    else allOrNothing(writer, run);
  } catch (caught) {
    if (!(caught instanceof ServiceError) || endsGroup(caught, writer.db)) throw caught;
    assert(writer.isUnchangedSince(mark), `work that failed changed something: ${caught}`);
    writer.executing(execution.id, execution.cause);
    return caught;
  }
  return null;
}

/**
 * Does all that `run` does or, if it throws, nothing. Its changes of documents are stored when it has succeeded, without
 * a savepoint: `run` reads documents through the writer, and calls `changes.storeDeferred` before it reads them
 * otherwise.
 */
export function allOrNothing<T>(writer: Writer, run: () => T): T {
  const {changes} = writer;
  const mark = markOfFirst(writer);
  let result: T;
  changes.defer();
  try {
    result = run();
  } catch (caught) {
    const isDeferred = changes.endDeferring();
    if (endsGroup(caught, writer.db)) throw caught;
    if (!isDeferred) rollBack(writer);
    writer.returnTo(mark);
    throw caught;
  }
  if (changes.endDeferring()) changes.store();
  else writer.statements.release.run();
  return result;
}

/**
 * Returns a function that rolls back everything the current write has done. The write, which has a savepoint, then ends as
 * if it had not begun, except that document numbers are not reused.
 */
export function dryRun(writer: Writer): () => void {
  const mark = markOfFirst(writer);
  return () => {
    writer.statements.rollbackTo.run();
    writer.returnTo(mark);
  };
}

function markOfFirst(writer: Writer): Mark {
  assert(writer.effectSequence === writer.head.sequence, 'what can be rolled back by itself comes first in its write');
  return writer.mark();
}

/** To the newest savepoint: the write around it can have one of the same name. */
function rollBack({statements}: Writer): void {
  statements.rollbackTo.run();
  statements.release.run();
}
