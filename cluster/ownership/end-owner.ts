/**
 * A tenant whose entry was marked as deleted, or as paused, is served by no host in an epoch before that when this resolves.
 *
 *   marked ──its owner receives that, closes──▶ `open` of an epoch that no host has ──▶ no host can append to its log
 *              └─ or is lost: its lease ends                    └─ paused: `close`, so that this host need not be awaited
 *
 * A host that became the owner before the mark, and has not opened the log yet, finds the `open`. After it no host can
 * become the owner of a deleted tenant, and that of a paused one opens it as it is to be.
 */
import {sourceOf} from '../../engine/copies/bytes.ts';
import {assert} from '../../shared/assert.ts';
import {OWNER_RETRY_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {TenantName} from '../log/subjects.ts';
import {noteOf, type OpenOptions, type TenantLog} from '../log/tenant-log.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {Members} from '../members/members.ts';
import {formerOwnerEnds} from './former-owner.ts';
import {noteOfOwner, type Owner, type TenantRecord} from './tenant-record.ts';

export type EndOwnerParts = {
  readonly replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>;
  readonly members: Pick<Members, 'outcomeOf'>;
  readonly clock: Clock;
  /** This host: its own worker has ended. */
  readonly self: Owner;
  /** Aborts when this host leaves the cluster. Until then it goes on: an `open` without a `close` names a host that lives. */
  readonly signal: AbortSignal;
};

/** @param last its entry before it was marked. @param mark of it. @throws EngineError: the signal has aborted, and it can still be served */
export async function endOwner(
  parts: EndOwnerParts,
  tenant: TenantName,
  last: Pick<TenantRecord, 'owner' | 'epoch'>,
  mark: 'deleted' | 'paused',
): Promise<void> {
  const {replicated, members, clock, self, signal} = parts;
  // No host was its owner.
  if (last.owner === null) return;
  const log = replicated.tenant(tenant);
  const ownerEnds = formerOwnerEnds({log, members, clock, self, signal});
  for (let epoch = last.epoch + 1; !signal.aborted; await delay(clock, OWNER_RETRY_MS)) {
    try {
      const place = await placeOf(replicated, tenant, log, last);
      const outcome = await log.open({epoch, note: noteOfOwner(self), ...place, apply: () => {}, ownerEnds, signal});
      if (mark === 'paused') {
        // With a full log no other host can open it either.
        if (outcome.kind === 'opened') await close(parts, log, outcome.position);
        if (outcome.kind !== 'abandoned') return;
      }
      if (outcome.kind === 'opened') return;
      if (outcome.kind === 'superseded') {
        assert(outcome.epoch >= epoch, 'the log has an epoch that is not below');
        epoch = outcome.epoch + 1;
      } else if (outcome.kind === 'full') await freeSpace(log);
    } catch (error) {
      // Records can be trimmed while they are read.
      if (!(error instanceof EngineError || error instanceof LogError)) throw error;
    }
  }
  throw new EngineError(`the tenant ${tenant.id} is ${mark}, and the host that served it may not know it yet`);
}

/** The next owner would wait for the end of this host. */
async function close({clock, self, signal}: EndOwnerParts, log: TenantLog, opened: LogPosition): Promise<void> {
  const body = sourceOf(Buffer.from(noteOfOwner(self)));
  for (; !signal.aborted; await delay(clock, OWNER_RETRY_MS)) {
    try {
      const outcome = await log.append(opened, {kind: 'close', epoch: opened.epoch, body}, signal);
      const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
      if (kind !== 'full') return;
    } catch (error) {
      if (!(error instanceof EngineError || error instanceof LogError)) throw error;
    }
  }
}

/** From where its log is read to find out who opened it last: almost always that is the owner in its entry. */
async function placeOf(
  {bases}: Pick<ReplicatedLog, 'bases'>,
  tenant: TenantName,
  log: TenantLog,
  {owner, epoch}: Pick<TenantRecord, 'owner' | 'epoch'>,
): Promise<Pick<OpenOptions, 'from' | 'openedBy'>> {
  const newest = await log.newest();
  if (newest === null) return {from: null, openedBy: null};
  const tail = newest.position;
  // A host that pauses the tenant opens it as well.
  if (tail.kind === 'open') return {from: tail, openedBy: await noteOf(newest)};
  if (tail.epoch === epoch && owner !== null) return {from: tail, openedBy: noteOfOwner(owner)};
  const base = (await bases.list(tenant)).at(-1);
  return {from: base?.position ?? null, openedBy: base?.openedBy ?? null};
}

/** The records of the tenant are needed by no one. */
async function freeSpace(log: TenantLog): Promise<void> {
  const tail = await log.tail();
  if (tail !== null) await log.trim(tail);
}
