/** Waits until the owner that the log names serves no reads: before that, nothing of another host may be appended. */
import {RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import type {LogPosition} from '../log/record.ts';
import type {OpenOptions, TenantLog} from '../log/tenant-log.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {Members} from '../members/members.ts';
import {isSameOwner, type Owner, ownerOfNote} from './tenant-record.ts';

export type FormerOwnerParts = {
  readonly log: Pick<TenantLog, 'tail'>;
  readonly members: Pick<Members, 'outcomeOf'>;
  readonly clock: Clock;
  /** This host: its own workers have ended before it opens a tenant. */
  readonly self: Owner;
  /** Aborts when nothing of this host opens the tenant any more. */
  readonly signal: AbortSignal;
};

/**
 * For `TenantLog.open`. A living owner finds in the tenant's entry that it is the owner no more, and closes.
 * What it returns throws an EngineError when the signal aborts: that says nothing about the owner, so nothing may be opened.
 */
export function formerOwnerEnds(parts: FormerOwnerParts): OpenOptions['ownerEnds'] {
  const {log, members, clock, self, signal} = parts;
  return async ({openedBy, tail}) => {
    if (tail.kind === 'close') return;
    const owner = openedBy === null ? null : ownerOfNote(openedBy);
    if (owner === null || isSameOwner(owner, self)) return;
    while (!signal.aborted) {
      if ((await members.outcomeOf(owner.host, owner.incarnation, signal)) !== 'alive') return;
      if (await hasGoneOn(log, tail)) return;
      await delay(clock, RENEW_MS / 10);
    }
    throw new EngineError('the tenant is not opened by this worker any more');
  };
}

/** It was closed or opened since: the record that the caller has read is not the newest one. */
async function hasGoneOn(log: Pick<TenantLog, 'tail'>, {epoch, n}: LogPosition): Promise<boolean> {
  try {
    const tail = await log.tail();
    return tail !== null && tail.n > n && (tail.kind === 'close' || tail.epoch > epoch);
  } catch (error) {
    if (error instanceof EngineError) return false;
    throw error;
  }
}
