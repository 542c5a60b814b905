/**
 * Appends again what a log has lost and a file of some host still has. NATS servers that start with older stores forget
 * records that they acknowledged, and report nothing.
 *
 *   the newest file of all hosts ── it is not ahead of the log ──▶ nothing
 *        └─ ahead ─▶ a copy made of the newest base and the log ─▶ the pages that differ, as one commit ─▶ append
 *
 * A file is ahead if its epoch is not older than that of the log's tail, and it has later commits than the log. All files of one epoch
 * have the history of its one owner, and the owner of a later epoch has read the whole log. A file of an older epoch is
 * not ahead: its owner was fenced, and what only it has was not acknowledged.
 *
 * What is appended expects the tail that was read, so a read that missed the newest records appends nothing. It has one
 * record where the log had several, so files that have these are set aside by their hosts and made again.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {type Source, sourceOf, sourceOfFile} from '../../engine/copies/bytes.ts';
import {DISK} from '../../engine/copies/disk.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {LogPosition} from '../log/record.ts';
import type {AppendDecision, LogEntry, TenantLog} from '../log/tenant-log.ts';
import type {TenantBases} from './base-of-file.ts';
import {LogFollower} from './log-follower.ts';

/** A host's file of a tenant. */
export type MemberFile = {
  readonly host: string;
  /** Of the newest record that the file is known to have. */
  readonly position: LogPosition;
  readonly openedBy: string;
  /** Newest commit of the file. */
  readonly commit: number;
  /** Its worker has found that the log ends before it. */
  readonly isKnownAhead?: boolean;
};

/** The files that hosts have. */
export interface MemberFiles {
  /** Of all hosts that answer, this one included, while no worker has them. */
  of(tenantId: string): Promise<readonly MemberFile[]>;
  /** Stores the newest commit of that file as a base. @param to path of a new file */
  fetch(file: MemberFile, to: string): Promise<void>;
}

/** `refused`: the log has other records by now. */
export type Restored = 'nothing_lost' | 'appended' | 'refused' | 'full' | 'abandoned';

export type RestoreParts = {
  readonly log: TenantLog;
  readonly bases: TenantBases;
  readonly files: MemberFiles;
  /** A directory that is made for this, and removed. */
  readonly scratch: string;
  readonly signal?: AbortSignal;
};

/** Newest first. */
export function byAge(one: MemberFile, other: MemberFile): number {
  return other.position.epoch - one.position.epoch || other.commit - one.commit || other.position.n - one.position.n;
}

/**
 * Call it before a tenant is opened, while no worker has its file. Without a file that is ahead it costs one read.
 * @throws LogError, EngineError, CopyError
 */
export async function restoreLostTail(parts: RestoreParts): Promise<Restored> {
  const {log, bases, files, scratch} = parts;
  const found = await files.of(bases.tenant.id);
  const tail = await log.tail();
  const newest = newestAhead(found, tail);
  if (newest === null) return 'nothing_lost';
  mkdirSync(scratch, {recursive: true, mode: 0o700});
  const path = join(scratch, 'ahead');
  try {
    await files.fetch(newest, path);
    const fd = DISK.open(path, 'r');
    try {
      return await appendLost(parts, newest, new PageSet(sourceOfFile(fd)));
    } finally {
      DISK.close(fd);
    }
  } finally {
    rmSync(scratch, {recursive: true, force: true});
  }
}

/** Null: none has what the log, up to its tail, has not. */
export function newestAhead(files: readonly MemberFile[], tail: LogPosition | null): MemberFile | null {
  return files.filter(file => isAhead(file, tail, files)).sort(byAge)[0] ?? null;
}

/**
 * The place of a worker's file can be older than the file. Then its commits show that it is ahead, if another file is at
 * the tail. One commit more is no loss: it is the one that was not acknowledged.
 */
function isAhead(file: MemberFile, tail: LogPosition | null, all: readonly MemberFile[]): boolean {
  const {epoch, n} = file.position;
  if (tail === null || epoch > tail.epoch) return true;
  if (epoch < tail.epoch) return false;
  if (file.isKnownAhead === true) return true;
  const atTail = all.find(({position}) => position.n === tail.n && position.digest.equals(tail.digest));
  return n > tail.n || (atTail !== undefined && file.commit > atTail.commit + 1);
}

async function appendLost(parts: RestoreParts, newest: MemberFile, ahead: PageSet): Promise<Restored> {
  const {log, bases, scratch} = parts;
  const file = new ReplicatedFile(join(scratch, TENANT_FILE), 0);
  try {
    const follower = new LogFollower(log, file, bases);
    await follower.follow();
    const {tail} = follower;
    if (file.at === null) return await append(parts, {newest, tail}, ahead.source);
    if (ahead.after.commit <= file.at.commit) return 'nothing_lost';
    const path = join(scratch, 'difference');
    const fd = DISK.open(path, 'w+');
    try {
      file.writeDifference(ahead, {write: bytes => DISK.write(fd, bytes, null)});
      return await append(parts, {newest, tail}, sourceOfFile(fd));
    } finally {
      DISK.close(fd);
    }
  } catch (error) {
    // A restored tenant begins another timeline: its file is not ahead.
    if (error instanceof PageSetError && error.code === 'other_timeline') return 'nothing_lost';
    throw error;
  } finally {
    file.close();
  }
}

/** Under the epoch of the file, which has to be the one of the log, or is opened again. */
async function append(
  {log, bases, signal}: RestoreParts,
  {newest, tail: before}: {newest: MemberFile; tail: LogPosition | null},
  body: Source,
): Promise<Restored> {
  const {epoch} = newest.position;
  let tail = before;
  const appended = async (entry: LogEntry): Promise<AppendDecision> => {
    const outcome = await log.append(tail, entry, signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind === 'committed') tail = decision.position;
    return decision;
  };
  if (tail !== null && (epoch < tail.epoch || (tail.kind === 'close' && epoch === tail.epoch))) return 'nothing_lost';
  const note = sourceOf(Buffer.from(newest.openedBy));
  const opened = tail?.epoch === epoch ? null : await appended({kind: 'open', epoch, body: note});
  const decision =
    opened !== null && opened.kind !== 'committed' ? opened : await appended({kind: 'commit', epoch, body});
  if (decision.kind === 'full' || decision.kind === 'abandoned') return decision.kind;
  if (decision.kind !== 'committed') return 'refused';
  bases.report(
    `the log of ${bases.tenant.id} had lost its newest records. The commits up to ${newest.commit} were appended again from the file of ${newest.host}`,
  );
  return 'appended';
}
