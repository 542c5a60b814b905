/**
 * The composition root: opens one tenant's file and wires the stages in the order in which a write passes them. All
 * state of a tenant is reachable from here; a worker process has exactly one tenant.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {BackgroundWrites} from '../engine/commit/background.ts';
import {CleanMark} from '../engine/commit/clean-mark.ts';
import type {Stage} from '../engine/commit/commit.ts';
import {Company} from '../engine/commit/company.ts';
import {CommitGroups} from '../engine/commit/group.ts';
import {Linger} from '../engine/commit/linger.ts';
import {StorageQuota} from '../engine/commit/storage-quota.ts';
import {SyncPlace} from '../engine/commit/sync-place.ts';
import {TableCounts} from '../engine/commit/table-counts.ts';
import {Writer} from '../engine/commit/writer.ts';
import type {FileState} from '../engine/copies/capture.ts';
import {fileStateOf} from '../engine/copies/file-state.ts';
import {TenantCopies} from '../engine/copies/tenant-copies.ts';
import {JournalBlocks} from '../engine/journal/blocks.ts';
import {JournalReader} from '../engine/journal/read-page.ts';
import {JournalRetention} from '../engine/journal/retention.ts';
import {JournalSearch} from '../engine/journal/search.ts';
import {JournalTimes} from '../engine/journal/times.ts';
import {LiveIndex} from '../engine/live/live-index.ts';
import {LiveQueries} from '../engine/live/live-queries.ts';
import type {LiveScan} from '../engine/reads/scan-message.ts';
import {type LiveTaker, ScanPool} from '../engine/reads/scan-pool.ts';
import {AllWork} from '../engine/scheduler/all-work.ts';
import {CronRunReader} from '../engine/scheduler/cron-runs.ts';
import {CronReader} from '../engine/scheduler/crons.ts';
import {JobReader} from '../engine/scheduler/jobs.ts';
import {ScheduleRunner} from '../engine/scheduler/runner.ts';
import {BackFill} from '../engine/schema/back-fill.ts';
import {SchemaChanges} from '../engine/schema/change.ts';
import {TableList} from '../engine/schema/table-list.ts';
import {Scrub} from '../engine/scrub/scrub.ts';
import {ScrubPass} from '../engine/scrub/scrub-pass.ts';
import {Catalog} from '../engine/storage/catalog.ts';
import type {Connection} from '../engine/storage/connection.ts';
import {placeOf, reportDamageTo} from '../engine/storage/damage.ts';
import {leaveSyncsToUs, openReader} from '../engine/storage/database.ts';
import {FileGuard} from '../engine/storage/file-guard.ts';
import {damagedError} from '../engine/storage/identity.ts';
import {LogSync} from '../engine/storage/log-sync.ts';
import {checkInBackground} from '../engine/storage/quick-check.ts';
import {Reader} from '../engine/storage/reader.ts';
import type {Reserve} from '../engine/storage/reserve.ts';
import type {TableInfo} from '../engine/storage/rows.ts';
import {storedSettings} from '../engine/storage/stored-settings.ts';
import {
  checkFileIsThere,
  isDiskReadOnly,
  openFailure,
  openTenantFile,
  openTenantFileForReading,
} from '../engine/storage/tenant-file.ts';
import {unwritableError} from '../shared/disk-errors.ts';
import {readOnlyTenant} from '../shared/errors.ts';
import type {LogGrant} from '../shared/ipc/cluster.ts';
import type {TenantSettings} from '../shared/ipc/control.ts';
import type {EgressSettings, EndpointKey} from '../shared/ipc/egress.ts';
import type {Logger} from '../shared/log.ts';
import {WorkerMetrics} from '../shared/metrics/worker-metrics.ts';
import type {NodeVersion} from '../shared/node-version.ts';
import {acquireOwnerLock, type OwnerLock} from '../shared/owner-lock.ts';
import {rewriteFile} from '../shared/rewrite-file.ts';
import {DAMAGED_FILE, TENANT_FILE} from '../shared/tenant-directory.ts';
import {FileHold} from './api/bulk/export/file-hold.ts';
import {Imports} from './api/bulk/import/imports.ts';
import {Tasks} from './api/bulk/tasks/tasks.ts';
import {Dispatch} from './api/dispatch.ts';
import {Followers} from './api/follow/followers.ts';
import {FunctionFollowers} from './api/follow/function-followers.ts';
import {JournalFollowers} from './api/follow/journal-followers.ts';
import {LiveList} from './api/follow/live-list.ts';
import {ResultFollowers} from './api/follow/result-followers.ts';
import {closeFile} from './close-file.ts';
import {ControlGate} from './control/gate.ts';
import {FunctionGate} from './functions/gate.ts';
import {SocketGate} from './functions/socket-gate.ts';
import {LeaseGate} from './ipc/lease-gate.ts';
import {RouterCaches} from './ipc/router-caches.ts';
import {FILE_POLL_MS, OWNER_WAIT_MS} from './limits.ts';
import type {TenantReplication} from './replication/tenant-replication.ts';
import type {WorkerEgress} from './runtime/egress/worker-egress.ts';
import {fail, stopDamaged, warnOfFuture} from './tenant-ends.ts';
import {measureTenant} from './tenant-metrics.ts';

/** Messages from a tenant to the supervisor. */
export type Upwards = {
  egress: WorkerEgress;
  /** Requests a version of Node. @throws Error when it is not available, with a reason that people can read */
  installNode: (version: NodeVersion) => Promise<void>;
  /** The time until which work goes on that no request waits for, epoch milliseconds; null: none. */
  onUse: (untilMs: number | null) => void;
};

export class Tenant {
  readonly dispatch: Dispatch;
  readonly live: LiveQueries;
  readonly sockets: SocketGate;
  readonly metrics = new WorkerMetrics();
  readonly caches: RouterCaches;
  /** Null: no copies are made. */
  readonly copies: TenantCopies | null;
  /** For clones. */
  readonly fileHold: FileHold;
  #lagSeconds = 0;
  readonly #path: string;
  /** Null: this host is not part of a cluster. */
  readonly lease: LeaseGate | null;
  readonly #replication: TenantReplication | null;
  /** Null: the disk is read-only, and so is the tenant. */
  readonly #lock: OwnerLock | null;
  readonly #files: FileGuard;
  readonly #filesTimer: NodeJS.Timeout;
  readonly #writerDb: Connection;
  readonly #readerDb: Connection;
  readonly #writer: Writer;
  readonly #reader: Reader;
  readonly #quota: StorageQuota;
  readonly #groups: CommitGroups;
  readonly #background: BackgroundWrites;
  readonly #backFill: BackFill;
  readonly #schemas: SchemaChanges;
  readonly #tasks: Tasks;
  readonly #catalog: Catalog;
  readonly #counts: TableCounts;
  readonly #retention: JournalRetention;
  readonly #clean: CleanMark;
  readonly #functions: FunctionGate;
  readonly #control: ControlGate;
  readonly #scans: ScanPool;
  readonly #schedule: ScheduleRunner;
  readonly #followers: Followers;
  readonly #scrub: Scrub;
  readonly #sync: LogSync;
  readonly #crons: CronReader;
  readonly #journalBlocks: JournalBlocks;

  static async open(settings: TenantSettings, reserve: Reserve, log: Logger, upwards: Upwards): Promise<Tenant> {
    const note = join(settings.directory, DAMAGED_FILE);
    if (existsSync(note)) throw damagedError(`the tenant stays stopped: its file was found damaged, as ${note} says`);
    try {
      const isReadOnly = isDiskReadOnly(settings.directory);
      checkFileIsThere(settings.directory, isReadOnly);
      // A tenant that cannot be written needs no owner.
      const lock = isReadOnly
        ? null
        : await acquireOwnerLock(join(settings.directory, 'owner'), {waitMs: OWNER_WAIT_MS});
      if (!isReadOnly) await rewriteFile(`${join(settings.directory, TENANT_FILE)}-wal`);
      const replication = settings.log === null ? null : await bringToLog(settings, settings.log, isReadOnly, log);
      const tenant = new Tenant(settings, reserve, lock, replication, log, upwards);
      if (replication !== null) await replication.begin(tenant.#fileState());
      if (!settings.isReadOnly) tenant.#begin();
      await tenant.#scrub.first();
      return tenant;
    } catch (caught) {
      throw openFailure(caught, settings.directory);
    }
  }

  private constructor(
    settings: TenantSettings,
    reserve: Reserve,
    lock: OwnerLock | null,
    replication: TenantReplication | null,
    log: Logger,
    {onUse, egress, installNode}: Upwards,
  ) {
    this.#lock = lock;
    this.#replication = replication;
    this.lease = replication?.lease ?? null;
    this.caches = RouterCaches.of(settings.routers, settings.log !== null);
    reportDamageTo((damage, isNew) => {
      this.metrics.count('svc_storage_damage_total', {check: damage.check});
      if (isNew) log.error('stored data is damaged', {...damage, finding: placeOf(damage)});
      if (isNew) this.caches.dropAll();
    });
    this.#path = join(settings.directory, TENANT_FILE);
    const isReadOnly = lock === null;
    const open = isReadOnly ? openTenantFileForReading : openTenantFile;
    this.#writerDb = reserve.openWith(settings.directory, () => open(settings.directory, settings));
    replication?.opened(this.#writerDb);
    if (isReadOnly) log.error('the disk is read-only: reads go on, and every write is refused');
    // A commit into a file that was replaced or deleted is not acknowledged: the process ends, and the outcome of its
    // writes is unknown.
    this.#files = new FileGuard(settings.directory, finding =>
      fail(log, "the tenant's file is not the one that was opened", finding),
    );
    this.#readerDb = openReader(this.#path);
    const catalog = Catalog.read(this.#writerDb);
    this.#catalog = catalog;
    this.#writer = new Writer(this.#writerDb, catalog, Date.now);
    warnOfFuture(this.#writer.head.timestamp, log);
    this.#clean = new CleanMark(this.#writer);
    if (!this.#clean.wasClean) this.caches.followsCrash();
    this.#retention = new JournalRetention(this.#writer, settings.journalKeepRecords);
    const beforeCommit = (writer: Writer) => {
      if (this.#clean.isSet) this.#clean.clear(writer);
      if (writer.head.sequence >= this.#retention.dueSequence) this.#retention.trim(writer);
    };
    const committedCatalog = new Catalog();
    this.#reader = new Reader(this.#readerDb, committedCatalog, {followsCatalog: true});
    this.#reader.inSnapshot();
    this.#sync = new LogSync(this.#path);
    leaveSyncsToUs(this.#writerDb);
    this.#scans = new ScanPool(this.#path, error => fail(log, 'a scan thread failed', error));
    const index = new LiveIndex();
    const count = (table: TableInfo) => catalog.tableByNumber(table.number)?.documents ?? 0;
    this.live = new LiveQueries({
      index,
      reader: this.#reader,
      scans: {live: (scan, taker) => this.#liveScan(scan, taker)},
      metrics: this.metrics,
      sequence: () => this.#groups.durableSequence,
      count,
    });
    const journal = new JournalReader(this.#readerDb);
    this.#followers = new Followers(this.metrics);
    const journalFollowers = new JournalFollowers({
      followers: this.#followers,
      journal,
      reader: this.#reader,
      log,
      sequence: () => this.#groups.durableSequence,
    });
    this.#filesTimer = setInterval(() => {
      this.#files.check();
      if (isReadOnly && !isDiskReadOnly(settings.directory)) fail(log, 'the disk can be written again', null);
    }, FILE_POLL_MS).unref();
    const stages: Stage[] = [];
    this.#quota = new StorageQuota(this.#writerDb, settings.storageBytesMax);
    this.copies = isReadOnly ? null : this.#startCopies(settings, log);
    const company = new Company(stages, () => this.dispatch.requests);
    this.#groups = new CommitGroups({
      writer: this.#writer,
      metrics: this.metrics,
      log,
      beforeCommit,
      stages,
      sync: this.#sync.sync,
      refusal: isReadOnly ? unwritableError : settings.isReadOnly ? readOnlyTenant : null,
      inThread: {place: new SyncPlace(writes => company.isAbsent(writes)), sync: this.#sync.syncNow},
      snapshot: {hold: () => this.#reader.hold(), advance: () => this.#reader.endSnapshot()},
      quota: this.#quota,
      files: this.#files,
      scans: this.#scans,
      copies: this.copies ?? undefined,
      durability: replication?.durability,
      linger: new Linger(),
      caches: this.caches,
    });
    this.#background = new BackgroundWrites(this.#groups, log, (kind, error) => fail(log, `${kind} failed`, error));
    this.#counts = new TableCounts(catalog, this.#background);
    this.#backFill = new BackFill(catalog, this.#background);
    const schemas = new SchemaChanges(this.#writer, this.#reader, this.#groups, this.#background, this.#backFill);
    this.#schemas = schemas;
    this.#tasks = new Tasks(this.#writerDb, this.#background, schemas, page => this.#scans.page(page));
    this.#functions = new FunctionGate({
      path: this.#path,
      db: this.#writerDb,
      writer: this.#writer,
      reader: this.#reader,
      groups: this.#groups,
      schemas,
      index,
      clock: Date.now,
      log,
      metrics: this.metrics,
      egress,
      installNode,
      clusterPackages: replication?.packages ?? null,
      redactErrors: settings.redactErrors,
    });
    this.sockets = new SocketGate(this.#functions);
    this.#control = new ControlGate(
      {
        directory: settings.directory,
        db: this.#writerDb,
        groups: this.#groups,
        background: this.#background,
        metrics: this.metrics,
        log,
        clock: Date.now,
        egress: () => egress.endpoint(storedSettings(this.#writerDb).egress),
        functions: this.#functions.loaded,
        servicesMemoryMbMax: settings.servicesMemoryMbMax,
      },
      onUse,
    );
    const {runJob, prepareJob} = this.#functions;
    this.#schedule = new ScheduleRunner(
      this.#writer,
      this.#background,
      this.metrics,
      log,
      Date.now,
      runJob,
      !this.#clean.wasClean,
      prepareJob,
    );
    /** The stages of a commit, in this order; afterwards its writes are settled, which sends the replies. */
    stages.push(
      this.#files,
      this.caches,
      this.#reader, // row cache: the later stages read what was committed
      index, // notifies watchers of the written keys
      this.live, // before the replies: a client with the reply to a write finds it in every later result
      journalFollowers,
      this.#schedule,
      {takenBack: () => this.#tasks.wake()}, // wakes a task whose cancelling was taken back
      this.#functions,
      this.#control, // the code in use may have changed
      // A replica would be sent `commit.records` here, last before the replies, and awaited if replies are to wait for
      // it.
    );
    this.#crons = new CronReader(this.#readerDb);
    const times = new JournalTimes(this.#readerDb, journal);
    this.#journalBlocks = new JournalBlocks(this.#readerDb, journal, times, () => this.#reader.inSnapshot());
    this.dispatch = new Dispatch({
      tenant: {
        path: this.#path,
        catalog: committedCatalog,
        count,
        reader: this.#reader,
        scans: this.#scans,
        journal,
        journalSearch: new JournalSearch(this.#readerDb, journal, times, this.#journalBlocks),
        journalBlocks: this.#journalBlocks,
        journalFollowers,
        resultFollowers: new ResultFollowers(this.#followers, this.live),
        functionFollowers: new FunctionFollowers(this.#followers),
        liveList: new LiveList(() => [this.live, ...this.#functions.liveQueries]),
        groups: this.#groups,
        schemas,
        imports: new Imports(this.#groups, this.#readerDb, catalog, {
          set: (writer, table) => this.#tasks.schemaSet(writer, table),
          wake: () => this.#backFill.wake(),
        }),
        tasks: this.#tasks,
        jobs: new JobReader(this.#readerDb),
        crons: this.#crons,
        cronRuns: new CronRunReader(this.#readerDb),
        allWork: new AllWork(this.#readerDb),
        tables: new TableList(this.#reader, this.#counts),
        functions: this.#functions,
        control: this.#control,
        use: () => ({
          storageBytes: this.#quota.usedBytes,
          storageBytesMax: settings.storageBytesMax,
          journalRecords: this.#journalRecords(),
          journalKeepRecords: settings.journalKeepRecords,
          tables: this.#catalog.tablesMade,
          jobs: this.#writer.pendingJobs,
          crons: this.#writer.statements.countCrons.get()!,
          liveQueries: this.live.size,
          servicesMemoryMb: settings.servicesMemoryMbMax,
        }),
        clock: Date.now,
      },
      live: this.live,
      metrics: this.metrics,
      log,
    });
    this.fileHold = new FileHold(this.#path, () => this.#groups.settled());
    this.#scrub = new Scrub({
      pass: new ScrubPass(this.#readerDb, committedCatalog),
      reader: this.#reader,
      writer: this.#writer,
      background: this.#background,
      metrics: this.metrics,
      clock: Date.now,
      onRebuild: () => this.#backFill.wake(),
      onStructure: finding => stopDamaged(settings.directory, log, finding),
    });
    measureTenant(this.metrics, {
      tenant: settings.tenant,
      path: this.#path,
      journalHead: () => this.#groups.durableSequence,
      journalRecords: () => this.#journalRecords(),
      quota: this.#quota,
      catalog,
      crons: this.#crons,
      schedule: this.#schedule,
      lagSeconds: () => this.#lagSeconds,
      logLagSeconds: () => (this.#replication?.lagMs ?? 0) / 1_000,
    });
    this.#functions.warm();
    if (!this.#clean.wasClean) {
      log.info('the tenant did not close in order the last time; checking its file in the background');
      checkInBackground(
        this.#path,
        finding => {
          if (finding === null) this.#clean.checked();
          else stopDamaged(settings.directory, log, finding);
        },
        error => log.error('the check of the file could not run', {error}),
      );
    }
  }

  /** What goes on without a request. */
  #begin(): void {
    void this.#schemas.resume();
    this.#backFill.wake();
    this.#tasks.wake();
    void this.#counts.complete();
    this.#schedule.arm();
    this.#control.warm();
  }

  #startCopies({copies: settings}: TenantSettings, log: Logger): TenantCopies | null {
    if (settings === null) return TenantCopies.none(this.#path);
    const file = () => this.#fileState();
    return new TenantCopies({path: this.#path, settings, file, metrics: this.metrics, log});
  }

  #fileState(): FileState {
    return fileStateOf(this.#writerDb, this.#writer.head, this.#writer.nowMs());
  }

  /** A thread can read a commit that is not yet durable, so its results are delivered once that commit is. */
  #liveScan(scan: LiveScan, taker: LiveTaker): () => void {
    return this.#scans.live(scan, {
      begins: () => taker.begins(),
      batch: batch => taker.batch(batch),
      end: isComplete => this.#groups.whenDurable(() => taker.end(isComplete)),
      failed: error => this.#groups.whenDurable(() => taker.failed(error)),
    });
  }

  /** The egress policy stored in the tenant's file. */
  get storedEgress(): EgressSettings {
    return storedSettings(this.#writerDb).egress;
  }

  /** A deployment is active. */
  get hasCode(): boolean {
    return this.#functions.hasFunctions;
  }

  metricsText(lagSeconds: number): string {
    this.#lagSeconds = lagSeconds;
    this.#reader.inSnapshot();
    return JSON.stringify(this.metrics.report());
  }

  /** Calls of functions since the last call, as JSON. */
  functionsText(): string {
    return JSON.stringify(this.metrics.functions.take());
  }

  #journalRecords(): number {
    return Math.max(0, this.#groups.durableSequence - this.#retention.floor + 1);
  }

  /** Finishes work under way and closes the file. Returns when the tenant has work again, or null. */
  async close(): Promise<{nextDueMs: number | null; hasCode: boolean}> {
    this.#scrub.stop();
    this.#background.stop();
    this.#backFill.stop();
    this.#tasks.stop();
    this.#counts.stop();
    this.#journalBlocks.stop();
    this.#schedule.stop();
    // Services end before the functions that they call.
    await this.#control.close();
    await Promise.all([this.#functions.close(), this.#scans.close()]);
    await this.#groups.close();
    const {hasCode} = this; // after the last commit, which can be a deployment
    const isToGoOn = this.#backFill.hasWork || this.#tasks.hasWork || this.#control.wantsToGoOn;
    const nextDueMs = isToGoOn ? Date.now() : this.#schedule.nextDueMs();
    clearInterval(this.#filesTimer);
    this.fileHold.close();
    this.#sync.close();
    this.#readerDb.close();
    await closeFile({
      ...{path: this.#path, db: this.#writerDb, writer: this.#writer, groups: this.#groups, files: this.#files},
      ...{lock: this.#lock, scrub: this.#scrub, clean: this.#clean, copies: this.copies},
      replication: this.#replication,
    });
    return {nextDueMs, hasCode};
  }
}

/** Loaded only on a host of a cluster. @throws session.storage_read_only 503, and as TenantReplication.bring */
async function bringToLog(
  {directory, generation}: TenantSettings,
  settings: LogGrant & EndpointKey,
  isReadOnly: boolean,
  log: Logger,
): Promise<TenantReplication> {
  if (isReadOnly) throw unwritableError();
  const {TenantReplication: Replication} = await import('./replication/tenant-replication.ts');
  const path = join(directory, TENANT_FILE);
  const onLost = (reason: string, error?: unknown) => fail(log, reason, error);
  return await Replication.bring({settings, generation, path, lease: new LeaseGate(), log, onLost});
}
