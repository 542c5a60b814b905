/**
 * Copies all tenants of a server to its repository, at each interval: looks into the spools of those that can have
 * something new, puts their page sets into one pack, and confirms what was stored and read back.
 *
 *   starting ──repository open──▶ running ◀──────── the store works again ──┐
 *      │                            │ └── the store or the repository fails ──▶ failing: tried again after a pause
 *      └── another server has the lease ──▶ locked ◀── it took it ──┘          (locked: tried again on request only;
 *                                                                  standby: of this cluster, tried again by time)
 *
 * What fails is one tenant's (its spool is damaged, or hostile: it is refused, and a base requested; or its data key
 * cannot be used: `key-faults.ts`) or the store's (nothing is confirmed, so the spools keep it). Neither ends this process. Bases, and sets that are too large for a
 * pack, are streamed one at a time while the rounds of all other tenants go on (`uploads.ts`).
 */
import {setImmediate as breathe} from 'node:timers/promises';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {backOffMs} from '../../shared/back-off.ts';
import {conflict} from '../../shared/errors.ts';
import type {CopiedTenant} from '../../shared/ipc/copier.ts';
import type {Logger} from '../../shared/log.ts';
import {COPIER_METRICS} from '../../shared/metrics/copier-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import type {BackupFault, BackupRun, BackupState} from '../../shared/protocol/backups.ts';
import {isOfTenant} from '../repository/repository-error.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {SERVER} from '../repository/tenant-copies.ts';
import type {CopierParts} from './copier-parts.ts';
import {kindOf, unlessOfStore, unlessOfTenant} from './fault-kinds.ts';
import {KeyFaults} from './key-faults.ts';
import {storeLarge} from './large-file.ts';
import {LeaseWaits} from './lease-waits.ts';
import {
  CHECK_MS,
  CLUSTER_LEASE_POLL_MS,
  FAILURE_PAUSE_MS_MAX,
  FAILURE_PAUSE_MS_MIN,
  LOOKS_AT_ONCE,
  MISSING_NAMED_MAX,
  RUN_EVERY_MS,
} from './limits.ts';
import {largeFile, Unusable} from './next-segment.ts';
import {RepositoryRefused} from './open-repository.ts';
import {Rounds, type TakenSet} from './rounds.ts';
import {Runs} from './runs.ts';
import {ServerFiles} from './server-files.ts';
import {nameOf, TenantCopy} from './tenant-copy.ts';
import type {NewFile} from './tenant-packages.ts';
import {Uploads} from './uploads.ts';

export class Copier {
  readonly #parts: CopierParts;
  readonly #log: Logger;
  readonly copies = new Map<string, TenantCopy>();
  readonly files = new ServerFiles();
  readonly #metrics = new Metrics(COPIER_METRICS);
  readonly #runs: Runs;
  #writer: RepositoryWriter | null = null;
  #repositoryId: string | null = null;
  #state: BackupState = 'starting';
  #fault: BackupFault | null = null;
  #failures = 0;
  #retryAtMs = 0;
  /** When the repository was last read or written. */
  #contactMs = 0;
  /** One could not be written after a pack was stored: the next round tries again, and is no success without it. */
  #isManifestDue = false;
  #lastSuccessMs: number | null;
  /** Since when a round is under way. Null: none is. */
  #roundSinceMs: number | null = null;
  /** Bases, and other files that are too large for a pack. */
  readonly #uploads: Uploads;
  readonly #keys: KeyFaults;
  readonly #leaseWaits: LeaseWaits;
  readonly #rounds: Rounds;
  #isClosing = false;
  #wake: (() => void) | null = null;
  #isWoken = false;

  constructor(parts: CopierParts) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#lastSuccessMs = parts.lastSuccessMs;
    this.#uploads = new Uploads(parts.now);
    this.#leaseWaits = new LeaseWaits(parts.settings, parts.now);
    this.#rounds = new Rounds({
      copies: this.copies,
      files: this.files,
      isUploading: tenant => tenant === this.#uploads.tenant,
      refused: (copy, caught) => this.#refused(copy, caught),
    });
    this.#keys = new KeyFaults({
      copies: this.copies,
      now: parts.now,
      found: (tenant, {message: reason}) => {
        this.count('key');
        this.#log.error('nothing of a tenant can be copied until its data key is back', {tenant, reason});
      },
    });
    this.#runs = new Runs(parts.now, () => this.#fault?.message ?? null);
    this.#metrics.measure('svc_backup_age_seconds', () => this.ageMs / 1_000);
    this.#metrics.measure('svc_backup_last_success_timestamp_seconds', () => (this.#lastSuccessMs ?? 0) / 1_000);
    this.#metrics.measure('svc_backup_spool_bytes', () => this.spoolBytes);
  }

  get state(): BackupState {
    return this.#state;
  }

  get fault(): BackupFault | null {
    return this.#fault ?? this.#keys.ofNoTenant;
  }

  get lastSuccessMs(): number | null {
    return this.#lastSuccessMs;
  }

  get repositoryId(): string | null {
    return this.#repositoryId;
  }

  /** Null: the repository is not open. */
  get writer(): RepositoryWriter | null {
    return this.#writer;
  }

  get ageMs(): number {
    const nowMs = this.#parts.now();
    // A round that hangs looks at no spool.
    const roundMs = nowMs - (this.#roundSinceMs ?? nowMs);
    let ageMs = roundMs > CHECK_MS ? roundMs : 0;
    for (const copy of this.copies.values()) ageMs = Math.max(ageMs, copy.ageMs(nowMs));
    return ageMs;
  }

  get spoolBytes(): number {
    let bytes = 0;
    for (const copy of this.copies.values()) bytes += copy.spoolBytes;
    return bytes;
  }

  report(): MetricJson[] {
    return this.#metrics.report();
  }

  count(kind: string): void {
    this.#metrics.count('svc_backup_errors_total', {kind});
  }

  tenantIs(tenant: CopiedTenant): void {
    const copy = this.copies.get(tenant.tenant);
    if (copy?.directory === tenant.directory) copy.is(tenant);
    else this.copies.set(tenant.tenant, this.#read(new TenantCopy(tenant)));
  }

  /** A base or timeline that was requested from the supervisor cannot be made now. */
  baseFailed(tenant: string, message: string): void {
    this.copies.get(tenant)?.baseFailed({at: this.#parts.now(), kind: 'base', message});
  }

  deleted(tenant: string): void {
    this.copies.delete(tenant);
    this.#uploads.deleted(tenant);
  }

  /** Runs until `close`; then it copies what the workers left, and gives up the lease. */
  async work(): Promise<void> {
    while (!this.#isClosing) {
      const sinceMs = this.#parts.now();
      const hasMore = await this.#round();
      const {everyMs: ownMs} = this.#parts.settings;
      const everyMs = this.#runs.areWaiting ? Math.min(RUN_EVERY_MS, ownMs) : ownMs;
      const leftMs = Math.min(everyMs, sinceMs + everyMs - this.#parts.now());
      if (!hasMore && leftMs > 0 && !this.#isClosing) await this.#pause(leftMs);
    }
    for (let hasMore = true; hasMore && this.#state === 'running'; ) {
      const {endedCount} = this.#uploads;
      hasMore = await this.#round();
      await this.#uploads.ended();
      hasMore ||= this.#uploads.endedCount !== endedCount; // sets can follow a base
    }
    if (this.#state !== 'running') await this.#look();
    this.logWaiting();
    await this.#writer?.release().catch(unlessOfStore);
    this.#writer?.repository.close();
  }

  /** Copies everything now. @throws ServiceError 503; op.conflict 409: another host of the cluster does */
  async run(withinMs: number): Promise<BackupRun> {
    if (this.#state === 'standby') throw conflict(this.#fault!.message);
    for (const copy of this.copies.values()) copy.tryNow();
    if (this.#state === 'locked') this.#state = 'failing';
    this.#retryAtMs = 0;
    this.#uploads.retry();
    this.#keys.retry();
    const done = this.#runs.wait(withinMs);
    this.#goOn();
    return done;
  }

  /** All workers have ended: `work` ends. */
  close(): void {
    this.#isClosing = true;
    this.#goOn();
  }

  /** Logs which tenants have commits that the repository lacks: their spools keep them. */
  logWaiting(): void {
    const waiting = [...this.copies.values()].filter(({isStored}) => !isStored).map(({tenant}) => tenant);
    if (waiting.length === 0 || this.#state === 'standby') return;
    this.#log.warn('not everything is in the repository; the next start stores it', {
      tenants: waiting.length,
      named: waiting.slice(0, MISSING_NAMED_MAX),
      ageMs: this.ageMs,
      bytes: this.spoolBytes,
      reason: this.#fault?.message,
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#goOn(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        this.#isWoken = false;
        resolve();
      };
      if (this.#isWoken) this.#wake();
    });
  }

  #goOn(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  #read(copy: TenantCopy): TenantCopy {
    copy.position = this.#writer === null ? undefined : this.#writer.newest(copy.tenant);
    return copy;
  }

  /** @returns whether there is more to do at once */
  async #round(): Promise<boolean> {
    const sinceMs = this.#parts.now();
    this.#roundSinceMs = sinceMs;
    const isTried = this.#state !== 'locked' && !this.#isPausedAt(sinceMs);
    try {
      if (isTried) {
        this.#writer ??= await this.#opened();
        await this.#keys.check(this.#writer);
      }
      await this.#look();
      if (!isTried || this.#writer === null) return false;
      this.#runs.looked(sinceMs, this.copies.values());
      this.#requestBases();
      if (this.#state === 'failing') await this.#writer.check(); // a mount point without its disk gets no packs
      const {sets, files, hasMore} = await this.#rounds.take(this.#writer);
      this.#beginUpload(this.#writer);
      await this.#store(this.#writer, {sets, files}, sinceMs);
      this.#runs.settle(this.copies);
      this.#worked();
      if (!hasMore && this.#isComplete(sets)) this.#succeeded(sinceMs);
      if (!hasMore && !this.#isClosing) this.#parts.idle?.(this.#writer);
      return hasMore;
    } catch (caught) {
      this.#failed(caught);
      return false;
    } finally {
      this.#roundSinceMs = null;
    }
  }

  /** If more is left than the longest pause, the clock was set back. */
  #isPausedAt(nowMs: number): boolean {
    return nowMs < this.#retryAtMs && this.#retryAtMs - nowMs <= FAILURE_PAUSE_MS_MAX;
  }

  async #opened(): Promise<RepositoryWriter> {
    try {
      const writer = await this.#parts.open(bytes => {
        this.#metrics.count('svc_backup_puts_total');
        this.#metrics.add('svc_backup_bytes_total', bytes);
      });
      this.#repositoryId = writer.repository.id;
      this.#contactMs = this.#parts.now();
      for (const copy of this.copies.values()) copy.begin(writer.newest(copy.tenant));
      this.#parts.opened(writer.repository.id, null, true);
      return writer;
    } catch (caught) {
      const refused = caught instanceof RepositoryRefused ? caught : null;
      const isRefused = this.#leaseWaits.holderInCluster(caught) === null;
      this.#parts.opened(refused?.repositoryId ?? null, isRefused ? refused : null, false);
      throw caught;
    }
  }

  async #look(): Promise<void> {
    let looks = 0;
    for (const copy of this.copies.values()) {
      if (!copy.isToLookAt || copy.tenant === this.#uploads.tenant || copy.isUnread) continue;
      try {
        copy.look(this.#parts.now());
      } catch (caught) {
        this.#refused(copy, caught);
      }
      if (++looks % LOOKS_AT_ONCE === 0) await breathe();
    }
  }

  #requestBases(): void {
    for (const copy of this.copies.values()) {
      const {work} = copy;
      if (work.kind !== 'base_due' || copy.keyFault !== null || copy.isOlder) continue;
      if (copy.tenant === this.#uploads.tenant) continue;
      if (!copy.isAwake && !copy.isBaseRequested) {
        copy.isBaseRequested = true;
        this.#parts.baseDue(copy.tenant);
      }
      if (copy.isAwake && !work.isRequested && copy.dueLooks > 1) this.#wantBase(copy);
    }
  }

  #wantBase(copy: TenantCopy): void {
    try {
      copy.wantBase();
    } catch (caught) {
      this.#refused(copy, caught);
    }
  }

  async #store(
    writer: RepositoryWriter,
    {sets, files}: {sets: readonly TakenSet[]; files: readonly NewFile[]},
    nowMs: number,
  ): Promise<void> {
    const segments = [
      ...files.map(({segment}) => segment),
      ...sets.map(({copy: {tenant}, segment: {bytes}}) => ({tenant, kind: 'set' as const, bytes})),
    ];
    if (segments.length > 0) {
      try {
        await writer.addPack(segments).catch(unlessOfTenant);
        for (const file of files) if (!writer.faults.has(file.segment.tenant)) file.stored();
      } finally {
        // If it failed, some of several packs can be stored all the same.
        for (const {copy} of sets) this.#confirm(writer, copy);
      }
    } else if (nowMs - this.#contactMs < CHECK_MS && !this.#isManifestDue) return;
    else await writer.check();
    this.#isManifestDue = true;
    for (let manifest = writer.nextManifest(); manifest !== null; manifest = writer.nextManifest()) {
      await writer.writeManifest(manifest);
      if (!writer.isBehind) break;
    }
    this.#isManifestDue = false;
    this.#contactMs = nowMs;
  }

  /** Begins to store the next file that is too large for a pack, if none is being stored. */
  #beginUpload(writer: RepositoryWriter): void {
    const tenant = this.#uploads.next(this.#rounds.tenantsWithLarge);
    if (tenant === null) return;
    const copy = this.copies.get(tenant) ?? null;
    const upload = (): Promise<void> => {
      if (copy === null) return this.files.upload(writer);
      return copy.packages.hasLarge ? copy.packages.upload(writer) : this.#storeLarge(writer, copy);
    };
    this.#uploads.begin(tenant, upload, {
      failed: caught => this.#uploadFailed(copy, caught),
      ended: () => this.#goOn(),
    });
  }

  async #storeLarge(writer: RepositoryWriter, copy: TenantCopy): Promise<void> {
    const file = largeFile(copy.work)!;
    const outcome = await storeLarge(writer, copy, file, this.#parts.settings);
    if (outcome === 'behind' && copy.baseIsBehind(file)) this.#older(copy);
    if (outcome !== 'stored') return;
    if (file.last === null) this.#metrics.count('svc_backup_bases_total');
    if (file.last === null) copy.storedBase = nameOf(file);
    copy.packages.changed();
    this.#isManifestDue = true;
    this.#confirm(writer, copy);
  }

  #older(copy: TenantCopy): void {
    const message = 'its file is older than its copies: it begins a new timeline';
    copy.isOlder = true;
    copy.fault = {at: this.#parts.now(), kind: 'older', message};
    this.count('older');
    this.#parts.timelineDue(copy.tenant);
  }

  /** @param copy null: it was a file of the server */
  #uploadFailed(copy: TenantCopy | null, caught: unknown): void {
    const kind = kindOf(caught);
    if (copy !== null && (kind === null || isOfTenant(caught))) {
      this.#refused(copy, caught);
      return;
    }
    if (kind === null || kind === 'locked') {
      this.#failed(caught);
      return;
    }
    this.count(kind);
    const {message} = caught as Error;
    this.#fault = {at: this.#parts.now(), kind, message};
    this.#log.warn('a large copy could not be stored; trying again', {tenant: copy?.tenant ?? SERVER, reason: message});
    if (copy !== null) copy.fault = this.#fault;
    // Whether the store works at all is for the next round to find out.
    this.#contactMs = Number.NEGATIVE_INFINITY;
  }

  #confirm(writer: RepositoryWriter, copy: TenantCopy): void {
    const position = writer.newest(copy.tenant);
    if (position === null || this.copies.get(copy.tenant) !== copy) return;
    if (copy.position?.commit === position.commit && copy.position.digest.equals(position.digest)) return;
    try {
      copy.stored(position);
      copy.look(this.#parts.now());
    } catch (caught) {
      this.#refused(copy, caught);
    }
  }

  /** Of one tenant. */
  #refused(copy: TenantCopy, caught: unknown): void {
    const isSpool = caught instanceof CopyError || caught instanceof PageSetError || caught instanceof Unusable;
    if (!isSpool && !isOfTenant(caught) && !(caught instanceof Error && 'syscall' in caught)) throw caught;
    const kind = caught instanceof Unusable || caught instanceof PageSetError ? caught.code : 'spool';
    const {message} = caught as Error;
    if (copy.fault?.message !== message) {
      this.#log.warn('the files of a tenant cannot be copied', {tenant: copy.tenant, reason: message});
      this.count('spool');
    }
    copy.refuse(caught instanceof Unusable ? nameOf(caught.file) : null, {at: this.#parts.now(), kind, message});
  }

  /** Of the store, or of the repository. */
  #failed(caught: unknown): void {
    const kind = kindOf(caught);
    if (kind === null) throw caught;
    const wait = kind === 'locked' ? this.#leaseWaits.of(caught) : null;
    if (wait === 'of_cluster') {
      this.#standBy(this.#leaseWaits.holderInCluster(caught)!.host);
      return;
    }
    const {message} = caught as Error;
    const isNew = this.#fault?.kind !== kind;
    this.count(kind);
    this.#fault = {at: this.#parts.now(), kind, message};
    if (wait === 'other') {
      this.#writer = null;
      this.#state = 'locked';
      this.#runs.giveUp();
      this.#log.error('another server writes to the repository: no copies are made', {reason: message});
      return;
    }
    this.#state = 'failing';
    this.#retryAtMs = this.#parts.now() + backOffMs(FAILURE_PAUSE_MS_MIN, FAILURE_PAUSE_MS_MAX, this.#failures++);
    if (isNew) this.#log.error('copies cannot be stored; trying again', {kind, reason: message});
  }

  /** Another host of the cluster copies all tenants. */
  #standBy(host: string): void {
    const message = `the host ${host} of the cluster copies all tenants to the repository: request it there`;
    if (this.#writer !== null) this.#parts.opened(this.#repositoryId, null, false);
    if (this.#state !== 'standby') this.#log.info('another host of the cluster makes the copies', {host});
    this.#writer = null;
    this.#state = 'standby';
    this.#fault = {at: this.#parts.now(), kind: 'standby', message};
    this.#retryAtMs = this.#parts.now() + CLUSTER_LEASE_POLL_MS;
    for (const copy of this.copies.values()) copy.leave();
    this.#runs.giveUp();
  }

  #worked(): void {
    if (this.#state === 'failing') this.#log.info('copies are stored again');
    if (this.#state === 'standby') this.#log.info('this host of the cluster makes the copies now');
    if (this.#fault?.kind === 'standby') this.#fault = null;
    this.#state = 'running';
    this.#failures = 0;
  }

  /** Nothing that was found in this round is left out. */
  #isComplete(sets: readonly TakenSet[]): boolean {
    const isStored = new Set(sets.map(({copy}) => copy));
    const isDone = (copy: TenantCopy): boolean =>
      copy.keyFault === null && !copy.packages.isDue && (copy.isStored || isStored.has(copy));
    return !this.#keys.isOfServer && [...this.copies.values()].every(isDone);
  }

  #succeeded(atMs: number): void {
    this.#lastSuccessMs = atMs;
    this.#fault = null;
    this.#parts.succeeded();
  }
}
