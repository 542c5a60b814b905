/**
 * Changes that are rolled back without the write around them: the run of scheduled work that fails, and a dry run. They
 * come first in their write, so everything that it has done is theirs.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {Cause} from './cause.ts';
import type {Writer} from './writer.ts';

/** The run of a job or a cron tick. */
export type Execution = {readonly id: string; readonly cause: Cause};

/** `checksFirst`: it throws only before its first change, so it needs no savepoint. */
export type Attempted = {readonly checksFirst: boolean; readonly run: () => void};

/** Makes a change that can fail without failing the write: a `ServiceError` is returned, and the change rolled back. */
export function attempt(writer: Writer, execution: Execution, {checksFirst, run}: Attempted): ServiceError | null {
  writer.executing(execution.id, execution.cause);
  const mark = writer.mark();
  const takeBack = checksFirst ? null : dryRun(writer);
  try {
    run();
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    if (takeBack === null) assert(writer.isUnchangedSince(mark), `work that checks first changed something: ${caught}`);
    else takeBack();
    writer.executing(execution.id, execution.cause);
    return caught;
  }
  if (takeBack !== null) writer.statements.releaseAttempt.run();
  return null;
}

/**
 * Returns a function that rolls back everything the current write does from now on. The write then ends as if it had
 * not begun, except that document numbers are not reused.
 */
export function dryRun(writer: Writer): () => void {
  assert(writer.effectSequence === writer.head.sequence, 'an attempt and a dry run come first in a write');
  const mark = writer.mark();
  writer.statements.savepointAttempt.run();
  return () => {
    writer.statements.rollbackToAttempt.run();
    writer.statements.releaseAttempt.run();
    writer.returnTo(mark);
  };
}
