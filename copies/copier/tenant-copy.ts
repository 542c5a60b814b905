/**
 * What the copier knows about one tenant: how far the repository is, and what the spool has that the repository lacks.
 *
 *   unknown ──read from the repository──▶ following ── sets that follow ──▶ following
 *      └── there is none ──▶ base due ◀── sets do not follow, or the spool was dropped ──┘
 *                               ├── a base was stored ──▶ following
 *                               └── it ends before the repository ──▶ older: the tenant begins a new timeline ──▶ base due
 *
 * A tenant that is asleep is looked at until nothing is left to copy, and then no more.
 */
import {existsSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {CopyError} from '../../engine/copies/copy-error.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {CONFIRMED_FILE} from '../../engine/copies/spool-files.ts';
import {type SpooledFile, type SpoolList, SpoolView} from '../../engine/copies/spool-view.ts';
import type {CopiedTenant} from '../../shared/ipc/copier.ts';
import type {BackupFault} from '../../shared/protocol/backups.ts';
import {SPOOL_DIRECTORY, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {TenantPackages} from './tenant-packages.ts';

/** `base_due`: nothing in the spool leads on from the repository. */
export type Work =
  | {kind: 'none'}
  | {kind: 'base'; file: SpooledFile}
  | {kind: 'sets'; files: readonly SpooledFile[]}
  | {kind: 'base_due'; isRequested: boolean};

export class TenantCopy {
  readonly tenant: string;
  readonly directory: string;
  isAwake: boolean;
  /** Its spool is made from the log of the cluster. */
  readonly isOfLog: boolean;
  /** Where the repository is. Null: it has nothing. Undefined: it was not read yet. */
  position: Position | null | undefined = undefined;
  work: Work = {kind: 'none'};
  /** The newest commit that the last look has found. Null: a base will have it. */
  newestSpooled: number | null = null;
  /** It can have more than the last look has found. */
  isToLookAt: boolean;
  /** Of the log: its spool may not begin where the repository is. */
  isSpoolDue: boolean;
  /** Since when the oldest commit waits, epoch ms; null: none does. */
  waitsSinceMs: number | null = null;
  /** Looks in a row that found that a base is due. One of them can meet a worker in the middle of a change. */
  dueLooks = 0;
  spoolBytes = 0;
  fault: BackupFault | null = null;
  /** Its data key cannot be used: nothing of it is stored. */
  keyFault: BackupFault | null = null;
  packages: TenantPackages;
  /** Files of the spool that are not tried again: one that does not lead on, and the base that was stored last. */
  refused: string | null = null;
  storedBase: string | null = null;
  /** The base that ends before the repository. */
  behindBase: string | null = null;
  /** The base that the first look found, which can be of any time. Undefined: there was none yet. */
  #firstBase: string | null | undefined = undefined;
  /** A new timeline was requested from the supervisor. */
  isOlder = false;
  /** Segments of it that were stored since this process started. */
  storedCount = 0;
  /** A sleeping tenant's base was requested from the supervisor. */
  isBaseRequested = false;
  /** It could not be made, and is tried again later. */
  isBaseFailed = false;

  constructor({tenant, directory, isAwake, isOfLog}: CopiedTenant) {
    this.tenant = tenant;
    this.directory = directory;
    this.isAwake = isAwake;
    this.isOfLog = isOfLog === true;
    this.isToLookAt = !this.isOfLog;
    this.isSpoolDue = this.isOfLog;
    this.packages = new TenantPackages(tenant, directory);
  }

  /** Its spool does not begin where its copies end, as far as is known. */
  get isUnread(): boolean {
    return this.isOfLog && (this.position === undefined || this.isSpoolDue);
  }

  /** It woke, or fell asleep; of the log: its spool or its packages have something new. */
  is({isAwake}: CopiedTenant): void {
    this.isAwake = isAwake;
    this.isToLookAt = true;
    this.isSpoolDue = false;
    this.isBaseRequested = false;
    this.isBaseFailed = false;
    this.isOlder = false;
    if (this.isOfLog) this.packages.changed();
  }

  /**
   * The repository is open. A spool that is made from the log begins there, and has to be looked at once it was made.
   * @throws errors of the file system
   */
  begin(position: Position | null): void {
    this.position = position;
    this.isToLookAt = !this.isOfLog;
    if (!this.isOfLog) return;
    [this.work, this.isSpoolDue] = [{kind: 'none'}, true];
    const spool = join(this.directory, SPOOL_DIRECTORY);
    if (position === null) {
      rmSync(join(spool, CONFIRMED_FILE), {force: true});
      return;
    }
    mkdirSync(spool, {recursive: true, mode: 0o700});
    this.#confirm(position);
  }

  /** Another host of the cluster stores its copies. */
  leave(): void {
    this.position = undefined;
    this.packages = new TenantPackages(this.tenant, this.directory);
    this.work = {kind: 'none'};
    [this.isToLookAt, this.waitsSinceMs, this.spoolBytes, this.fault] = [false, null, 0, null];
  }

  /** A base that could not be made is requested again. */
  tryNow(): void {
    this.isToLookAt = true;
    this.isBaseRequested &&= !this.isBaseFailed;
    this.isOlder &&= !this.isBaseFailed;
    this.isBaseFailed = false;
  }

  /** The base or timeline that was requested cannot be made now. */
  baseFailed(fault: BackupFault): void {
    if (!this.isBaseRequested && !this.isOlder) return;
    this.isBaseFailed = true;
    this.fault = fault;
  }

  /** @returns whether that proves that its file is older than the repository: the base was made after the first look */
  baseIsBehind(file: SpooledFile): boolean {
    this.behindBase = nameOf(file);
    this.isToLookAt = true;
    return this.behindBase !== this.#firstBase;
  }

  /** Requests a base from the worker. @throws errors of the file system */
  wantBase(): void {
    const view = SpoolView.open(this.directory);
    try {
      view?.wantBase();
    } finally {
      view?.close();
    }
  }

  /** @param newest what the repository has of it, if the key can be used */
  keyIs(fault: BackupFault | null, newest: Position | null): void {
    this.keyFault = fault;
    this.fault = fault;
    this.position = fault === null ? newest : undefined;
    this.isToLookAt = true;
  }

  /** Its copies were made unreadable, and it begins again. */
  forgotten(): void {
    this.position = null;
    this.packages = new TenantPackages(this.tenant, this.directory);
    this.isToLookAt = true;
  }

  /** Nothing of it can be stored for now. */
  get isStuck(): boolean {
    return this.isBaseFailed || this.keyFault !== null;
  }

  /** Finds out what is to be done. Opens no set. @throws CopyError; errors of the file system */
  look(nowMs: number): void {
    try {
      this.#look();
    } finally {
      this.dueLooks = this.work.kind === 'base_due' ? this.dueLooks + 1 : 0;
      this.waitsSinceMs = this.work.kind === 'none' ? null : (oldestOf(this.work) ?? this.waitsSinceMs ?? nowMs);
      this.isToLookAt = this.isAwake || this.work.kind === 'base' || this.work.kind === 'sets';
    }
  }

  #look(): void {
    const view = SpoolView.open(this.directory);
    if (view === null) {
      // A worker makes the spool as it opens the tenant. One that was never used has nothing to copy.
      const isUsed = existsSync(join(this.directory, TENANT_FILE));
      this.work = isUsed ? {kind: 'base_due', isRequested: this.isAwake} : {kind: 'none'};
      this.newestSpooled = null;
      this.spoolBytes = 0;
      this.#firstBase ??= null;
    } else {
      try {
        const list = this.#listed(view);
        if (this.#firstBase === undefined) this.#firstBase = list.base === null ? null : nameOf(list.base);
        // Until the repository can be read, what the worker knows to be there has to do.
        this.work = workOf(list, this.position === undefined ? list.position : this.position, [
          this.refused,
          this.storedBase,
          this.behindBase,
        ]);
        // A writer before this one has stored them, and ended before it could confirm them.
        if (this.work.kind === 'none' && this.position != null && isBehind(list, this.position))
          view.confirm(this.position);
        this.newestSpooled =
          this.work.kind === 'base_due' ? null : (list.sets.at(-1)?.last ?? list.position?.commit ?? null);
        this.spoolBytes = this.work.kind === 'none' ? 0 : bytesOf(list);
      } finally {
        view.close();
      }
    }
  }

  /** @throws CopyError: nothing of it can be used, so a base is due */
  #listed(view: SpoolView): SpoolList {
    try {
      return view.list();
    } catch (caught) {
      if (caught instanceof CopyError) this.work = {kind: 'base_due', isRequested: false};
      this.newestSpooled = null;
      throw caught;
    }
  }

  /** The repository has everything up to here, and the worker can forget it. @throws errors of the file system */
  stored(position: Position): void {
    this.position = position;
    this.storedCount++;
    this.refused = null;
    this.fault = this.keyFault;
    this.isBaseRequested = false;
    this.isBaseFailed = false;
    this.#confirm(position);
  }

  #confirm(position: Position): void {
    const view = SpoolView.open(this.directory);
    try {
      view?.confirm(position);
    } finally {
      view?.close();
    }
  }

  /** @param name of a file that does not lead on from the repository, so a base is due; null: of none */
  refuse(name: string | null, fault: BackupFault): void {
    this.refused = name ?? this.refused;
    this.fault = fault;
    this.isToLookAt = true;
  }

  /** The repository has everything that the last look has found. */
  get isStored(): boolean {
    return this.work.kind === 'none' && !this.packages.isDue && !this.isUnread;
  }

  /** Of the oldest commit that the repository lacks. */
  ageMs(nowMs: number): number {
    return this.waitsSinceMs === null ? 0 : Math.max(1, nowMs - this.waitsSinceMs);
  }
}

/** @param refused names of files that are not tried again */
export function workOf(list: SpoolList, position: Position | null, refused: readonly (string | null)[]): Work {
  const from = beginOf(list);
  const isStored = from !== list.position && position?.timeline === from?.timeline;
  const isNew = list.base !== null && !refused.includes(nameOf(list.base)) && !isStored;
  const base: Work = isNew ? {kind: 'base', file: list.base!} : {kind: 'base_due', isRequested: list.isBaseWanted};
  const leadsOn = position !== null && from?.timeline === position.timeline && from.commit <= position.commit;
  if (!leadsOn) return base;
  const files = list.sets.filter(({last}) => last! > position.commit);
  const isRefused = files.some(file => refused.includes(nameOf(file)));
  if (files.length > 0) return isRefused ? base : {kind: 'sets', files};
  const end = Math.max(from.commit, list.sets.at(-1)?.last ?? 0);
  // A spool never ends before what was confirmed: then it is of another history of the same timeline.
  const isSame = end === position.commit && (from.commit !== end || from.digest.equals(position.digest));
  return isSame ? {kind: 'none'} : base;
}

/** Where the first set begins: a worker removes what is confirmed, and leaves its own position as it is. */
function beginOf({position, confirmed}: SpoolList): Position | null {
  const isAhead = position !== null && confirmed?.timeline === position.timeline;
  return isAhead && confirmed.commit >= position.commit ? confirmed : position;
}

/** A name and what tells its content from another one of that name. */
export function nameOf({name, bytes, modifiedMs}: SpooledFile): string {
  return `${name} ${bytes} ${modifiedMs}`;
}

/** Whether the worker keeps sets that the repository has. */
function isBehind({sets, confirmed}: SpoolList, {commit}: Position): boolean {
  return sets.length > 0 && (confirmed === null || confirmed.commit < commit);
}

function bytesOf({base, sets}: SpoolList): number {
  return (base?.bytes ?? 0) + sets.reduce((sum, {bytes}) => sum + bytes, 0);
}

function oldestOf(work: Work): number | null {
  if (work.kind === 'base') return work.file.modifiedMs;
  return work.kind === 'sets' ? work.files[0]!.modifiedMs : null;
}
