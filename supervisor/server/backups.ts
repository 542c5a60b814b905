/**
 * The backups of this server: starts the copier, says which tenants there are and which are awake, and answers the routes
 * about backups. Without --backup-to there is no copier.
 */
import {hostname} from 'node:os';
import {join} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import {conflict, ServiceError} from '../../shared/errors.ts';
import type {BackupRequest} from '../../shared/ipc/backups.ts';
import {type CopiedTenant, LOG_SPOOLS_DIRECTORY, STATE_DIRECTORY, spoolOf} from '../../shared/ipc/copier.ts';
import type {ExpectedPoint, RestoredCopy} from '../../shared/ipc/drill.ts';
import type {Logger} from '../../shared/log.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import type {BackupStatus, RestoredTenant} from '../../shared/protocol/backups.ts';
import {packagesBeside} from '../files/adoption.ts';
import {DRILL_SCRATCH, removeBackupLeftovers} from '../files/backup-leftovers.ts';
import {type ServerIdentity, serverIdentity, serverPlace, storeIdentity} from '../files/server-id.ts';
import {StartError} from '../files/start-error.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import {
  BACKUP_RUN_MS,
  BACKUP_SUCCESS_STORE_MS,
  BASE_OF_LOG_MS,
  BASE_RETRY_MS,
  COPIER_CLOSE_MS_MIN,
  COPIER_START_MS,
  DRILL_RESTORE_MS,
  RESTORE_MS,
} from '../limits.ts';
import {CopierReports} from '../metrics/copier-reports.ts';
import type {SupervisorMetrics} from '../metrics/metrics.ts';
import {type CopierOpened, CopierProcess} from '../processes/copier-process.ts';
import {KillRate} from '../processes/kill-rate.ts';
import type {Adoptions} from '../tenants/adoptions.ts';
import {flushCopies} from '../tenants/flush-copies.ts';
import type {Lifecycle} from '../tenants/lifecycle-states.ts';
import type {Placement} from '../tenants/placement.ts';
import type {TenantEntry} from '../tenants/tenant-entry.ts';
import {Bases, type BasesParts, isAwake} from './bases.ts';
import {Drills, type DrillsParts} from './drills.ts';
import type {LogCopies} from './log-copies.ts';
import type {BackupSettings} from './settings.ts';
import {StateCopies, type StateParts} from './state-copies.ts';

export type BackupsParts = {
  /** Null: no backups are made. */
  settings: BackupSettings | null;
  data: string;
  files: TenantFiles;
  placement: Pick<Placement, 'entries' | 'find'>;
  state: StateParts;
  /** The copier's bundle, and its environment. */
  entry: string;
  env: Record<string, string>;
  takeIn: Adoptions['takeIn'];
  /** The log of the cluster, from which tenants are copied. Null: this server is no host of one. */
  fromLog: LogCopies | null;
  metrics: SupervisorMetrics;
  log: Logger;
} & Pick<DrillsParts, 'runErrand' | 'letPass'> &
  Pick<BasesParts, 'errands' | 'control' | 'beginTimeline'>;

const MAX = Number.MAX_SAFE_INTEGER;
const OTHER_HISTORY =
  'its log has other commits than its copies: svc backup forget removes them, and the next copies begin again';

export class Backups {
  readonly #parts: BackupsParts;
  #copier: CopierProcess | null = null;
  #identity: ServerIdentity | null = null;
  #drills: Drills | null = null;
  #state: StateCopies | null = null;
  readonly #bases: Bases;
  #onOpened: ((opened: CopierOpened) => void) | null = null;
  #reports = new CopierReports(Date.now, null);
  /** Ends when what was stored last is on disk. */
  #stored = Promise.resolve();

  constructor(parts: BackupsParts) {
    this.#parts = parts;
    const {placement, errands, control, beginTimeline, log} = parts;
    this.#bases = new Bases({
      ...{placement, errands, control, beginTimeline, log},
      lookAgain: tenant => this.#lookAgain(tenant),
      failed: (tenant, message) => this.#copier?.baseFailed(tenant, message),
    });
    if (parts.fromLog !== null)
      parts.fromLog.onSpooled = ({tenant, generation}) => {
        const isKnown = placement.find(tenant)?.generation === generation;
        if (isKnown) this.#lookAgain(tenant);
        return isKnown;
      };
    parts.metrics.measure('svc_backup_last_proven_timestamp_seconds', () => (this.#drills?.provenMs ?? 0) / 1_000);
  }

  /** Resolves when the repository is open, or cannot be reached now. @throws StartError: it cannot be used as it is */
  async start(): Promise<void> {
    const {settings, data} = this.#parts;
    if (settings === null) return removeBackupLeftovers(data);
    this.#identity = await serverIdentity(data);
    this.#reports = new CopierReports(Date.now, this.#identity.succeeded_at);
    this.#copier = this.#copierFor(settings, this.#identity.server_id);
    this.#drills = this.#drillsFor(settings, this.#identity, this.#copier);
    await this.#drills.start();
    const {state, log} = this.#parts;
    this.#state = new StateCopies(join(data, STATE_DIRECTORY), state, names => this.#copier?.stateCopied(names), log);
    const opened = await new Promise<CopierOpened | null>(resolve => {
      const timer = setTimeout(() => resolve(null), COPIER_START_MS);
      this.#onOpened = first => {
        clearTimeout(timer);
        resolve(first);
      };
      this.#copier!.start();
    });
    this.#onOpened = null;
    if (opened?.type === 'refused' && !this.#wasWriter(opened)) throw new StartError(opened.message);
  }

  /** Called when a tenant is new (`before` null), or its state has changed. */
  changed(entry: TenantEntry, before: Lifecycle | null): void {
    if (this.#copier === null) return;
    const copied = this.#copied(entry);
    if (copied === null) {
      if (!entry.isReturning) this.#copier.deleted(entry.id);
    } else if (before === null || (copied.isOfLog !== true && copied.isAwake !== isAwake(before))) {
      this.#copier.tenantIs(copied);
      const {tenant} = copied;
      const isSpooled = before === null && this.#parts.fromLog?.known({tenant, generation: entry.generation});
      // The copier waits for this after the first message about a tenant.
      if (isSpooled) this.#copier.tenantIs(copied);
    }
  }

  /** @returns the body of the route's answer. @throws ServiceError */
  async perform(request: BackupRequest): Promise<unknown> {
    if (this.#copier === null) return withoutBackups(request);
    switch (request.action) {
      case 'backup_status':
        return this.#withDrill(
          await this.#copier.request({does: 'status', after: request.cursor, limit: request.limit}),
        );
      case 'backup_points':
        return await this.#copier.request({does: 'points', tenant: request.tenant, before: request.before});
      case 'backup_drill':
        return {drill: this.#drills!.begin(request.tenants)};
      case 'tenant_restore':
        return await this.#restore(request, this.#copier);
      case 'backup_run':
        await this.#flush();
        return await this.#copier.requestWithin(BACKUP_RUN_MS, {does: 'run'});
      default:
        return unreachable(request);
    }
  }

  /** Metrics of the copier, with the counts of earlier ones. */
  async report(): Promise<MetricJson[]> {
    if (this.#copier === null) return [];
    const shown = this.#reports.taken(await this.#copier.report());
    const storedMs = this.#identity!.succeeded_at ?? 0;
    if ((this.#reports.lastSuccessMs ?? 0) > storedMs + BACKUP_SUCCESS_STORE_MS) this.#storeSuccess();
    return shown;
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#copier?.pid ?? null;
  }

  /** No drill begins from now on. */
  endDrills(): void {
    this.#drills?.close();
  }

  /** All workers have ended. @param withinMs what is left of the drain */
  async close(withinMs: number): Promise<void> {
    const startMs = performance.now();
    this.#bases.close();
    await this.#state?.close();
    if (this.#copier !== null) {
      await this.report();
      this.#storeSuccess();
      await this.#copier.close(Math.max(COPIER_CLOSE_MS_MIN, withinMs - (performance.now() - startMs)));
    }
    await this.#stored;
  }

  #copierFor(settings: BackupSettings, serverId: string): CopierProcess {
    const {to: repository, everyMs, keyFile, heartbeatUrl, keep, spoolBytesMax, tenantBytesMax} = settings;
    const {placement, metrics, data, entry, env, log} = this.#parts;
    const {fromLog} = this.#parts;
    const isOfLog = fromLog !== null;
    // The log bounds what is in it.
    const limits = isOfLog ? {spoolBytesMax: MAX, tenantBytesMax: MAX} : {spoolBytesMax, tenantBytesMax};
    const server = fromLog?.names ?? {host: hostname()};
    return new CopierProcess({
      settings: {
        ...{repository, keyFile, everyMs, heartbeatUrl, keep, ...limits, data},
        ...{...server, serverId, place: serverPlace(data)},
      },
      tenants: () => [...placement.entries()].flatMap(tenant => this.#copied(tenant) ?? []),
      onOpened: opened => this.#opened(opened),
      onBaseDue: tenant => (isOfLog ? void this.#baseOfLog(fromLog, tenant) : this.#bases.due(tenant)),
      onTimelineDue: tenant =>
        isOfLog ? this.#copier?.baseFailed(tenant, OTHER_HISTORY) : void this.#bases.timelineDue(tenant),
      lastSuccessMs: () => this.#reports.lastSuccessMs,
      onEnd: () => {
        metrics.count('svc_process_deaths_total', {process: 'copier'});
        this.#reports.ended();
      },
      onKill: reason => metrics.count('svc_process_kills_total', {process: 'copier', reason}),
      rate: new KillRate(() => performance.now()),
      entry,
      env,
      log,
    });
  }

  #drillsFor({drillEveryMs: everyMs}: BackupSettings, identity: ServerIdentity, copier: CopierProcess): Drills {
    const {data, runErrand, letPass, log} = this.#parts;
    return new Drills({
      everyMs,
      scratch: join(data, DRILL_SCRATCH),
      times: {drilledMs: identity.drilled_at, provenMs: identity.proven_at},
      remember: ({drilledMs, provenMs}) => this.#store({drilled_at: drilledMs, proven_at: provenMs}),
      copier: {
        tenants: () => copier.request({does: 'drill_tenants'}) as Promise<string[]>,
        restore: (tenant, path) =>
          copier.requestWithin(DRILL_RESTORE_MS, {does: 'drill_restore', tenant, path}) as Promise<RestoredCopy>,
        record: drilled => copier.request({does: 'drill_record', drilled}) as Promise<boolean>,
      },
      isWriter: () => this.#parts.fromLog?.isWriter ?? true,
      runErrand,
      letPass,
      clock: Date.now,
      log,
    });
  }

  #withDrill(answer: unknown): BackupStatus {
    const status = answer as BackupStatus;
    return status.backup === null ? status : {...status, backup: {...status.backup, drill: this.#drills!.status}};
  }

  /** Null: it is being deleted. */
  #copied(entry: TenantEntry): CopiedTenant | null {
    const {id, generation, lifecycle} = entry;
    if (lifecycle.state === 'deleting') return null;
    const {data, files, fromLog} = this.#parts;
    if (fromLog === null) {
      return {tenant: id, directory: files.path(id, generation), isAwake: isAwake(lifecycle)};
    }
    const directory = join(data, LOG_SPOOLS_DIRECTORY, spoolOf(id, generation));
    return {tenant: id, directory, isAwake: false, isOfLog: true};
  }

  #opened(opened: CopierOpened): void {
    const {repositoryId} = opened;
    if (opened.type === 'started' && repositoryId !== null && repositoryId !== this.#identity!.repository_id) {
      this.#store({repository_id: repositoryId});
    }
    this.#onOpened?.(opened);
    const isWriter = opened.type === 'started' && opened.isWriter;
    this.#parts.fromLog?.follow(isWriter);
    if (isWriter) this.#state?.begin();
  }

  /** What is durable now is in the spools. */
  async #flush(): Promise<void> {
    const {fromLog, placement} = this.#parts;
    if (fromLog === null) await flushCopies(placement.entries());
    else await fromLog.flush(BACKUP_RUN_MS);
  }

  /** Nothing in the spool of the tenant leads on from the repository. */
  async #baseOfLog(fromLog: LogCopies, tenant: string): Promise<void> {
    try {
      await fromLog.base(tenant, BASE_OF_LOG_MS);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#copier?.baseFailed(tenant, `its base cannot be read from the log: ${caught.message}`);
      setTimeout(() => this.#lookAgain(tenant), BASE_RETRY_MS).unref();
    }
  }

  #lookAgain(tenant: string): void {
    const entry = this.#parts.placement.find(tenant);
    const copied = entry === undefined ? null : this.#copied(entry);
    if (copied !== null) this.#copier?.tenantIs(copied);
  }

  /**
   * @throws session.tenant_exists 409, session.tenant_not_found 404, op.not_found 404; session.overloaded 503 and others
   * of 503, 507
   */
  async #restore(
    {tenant, target, as, replace, live}: BackupRequest & {action: 'tenant_restore'},
    copier: CopierProcess,
  ): Promise<RestoredTenant> {
    return await this.#parts.takeIn({tenant: as, replace, live}, async path => {
      const order = {tenant, target, path, packages: packagesBeside(path)};
      const restored = await copier.requestWithin(RESTORE_MS, {does: 'restore', ...order});
      const {point, gap} = restored as RestoredCopy & {point: ExpectedPoint};
      const {timeline, commit, sequence, timeMs: at} = point;
      const origin = {timeline, commit};
      return {origin, result: {tenant: as, from: tenant, point: {at, sequence, commit}, live, gap}};
    });
  }

  #storeSuccess(): void {
    const succeeded_at = this.#reports.lastSuccessMs;
    if (succeeded_at !== this.#identity!.succeeded_at) this.#store({succeeded_at});
  }

  #store(change: Partial<ServerIdentity>): void {
    this.#identity = {...this.#identity!, ...change};
    const stored = this.#identity;
    this.#stored = this.#stored
      .then(() => storeIdentity(this.#parts.data, stored))
      .catch((error: unknown) => this.#parts.log.warn('the state of the backups could not be stored', {error}));
  }

  /** Another server has taken the lease since: this one goes on without copies. */
  #wasWriter({repositoryId, ...opened}: CopierOpened): boolean {
    if (opened.type !== 'refused' || opened.refusal !== 'locked') return false;
    return repositoryId !== null && repositoryId === this.#identity!.repository_id;
  }
}

/** The answers of a server that makes no backups. @throws op.conflict 409 */
function withoutBackups({action}: BackupRequest): BackupStatus {
  if (action === 'backup_status') return {backup: null, tenants: [], next_cursor: null};
  throw conflict('this server makes no backups: start it with --backup-to');
}
