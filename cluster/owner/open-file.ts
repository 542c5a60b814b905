/**
 * Brings a tenant's closed file to its log, and opens the log for it.
 *
 *   follow the log (`log-follower.ts`) ─▶ a set that it lacks is applied; where it has another history it is cut
 *        └─ the tail is of the file's own epoch, and the file is ahead ─▶ what is ahead is appended, with that epoch
 *   open: the same reading, and the `open` record, until it is the next one
 */
import {sourceOf} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import type {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {OpenOptions, OpenOutcome, TenantLog} from '../log/tenant-log.ts';
import type {TenantBases} from './base-of-file.ts';
import {LogFollower} from './log-follower.ts';
import {encodePlace} from './place.ts';

export type FileOpenOptions = Pick<OpenOptions, 'epoch' | 'note' | 'ownerEnds' | 'signal'> & {
  readonly bases: TenantBases;
};

/**
 * @returns as `TenantLog.open`; the file is at the tail of the log if it is `opened`, and then its place is saved
 * @throws LogError, EngineError: the caller opens it again, which goes on from where the file is
 * @throws CopyError, PageSetError: the file cannot be continued
 */
export async function openFile(log: TenantLog, file: ReplicatedFile, options: FileOpenOptions): Promise<OpenOutcome> {
  const {bases, ...openOptions} = options;
  const follower = new LogFollower(log, file, bases);
  const epochBefore = follower.tail?.epoch;
  await follower.follow();
  const ended = await appendAhead(log, file, {tail: follower.tail, epoch: epochBefore, signal: options.signal});
  if (ended !== null) return ended;
  const {tail: from, openedBy, apply} = follower;
  const outcome = await log.open({...openOptions, from, openedBy, apply});
  if (outcome.kind === 'opened') file.finish(encodePlace(outcome.position, options.note));
  return outcome;
}

/**
 * A commit that only the file has was not acknowledged. But the log could have had it and lost it, so it is appended if
 * it continues the log. The reading that follows finds out whether the log has it.
 */
async function appendAhead(
  log: TenantLog,
  file: ReplicatedFile,
  {tail, epoch, signal}: {tail: LogPosition | null; epoch: number | undefined; signal: AbortSignal | undefined},
): Promise<OpenOutcome | null> {
  const ahead = aheadOf(file);
  if (ahead === null || tail === null || tail.epoch !== epoch || tail.kind === 'close') return null;
  const outcome = await log.append(tail, {kind: 'commit', epoch, body: sourceOf(ahead)}, signal);
  const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  return kind === 'full' || kind === 'abandoned' ? {kind} : null;
}

/** @throws LogError: the reading was stale, or the log has lost records that the file has */
function aheadOf(file: ReplicatedFile): Buffer | null {
  try {
    return file.ahead();
  } catch (cause) {
    if (cause instanceof CopyError) throw new LogError('behind', cause.message, {cause});
    throw cause;
  }
}
