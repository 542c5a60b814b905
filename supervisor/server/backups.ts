/**
 * The backups of this server: starts the copier, says which tenants there are and which are awake, and answers the routes
 * about backups. Without --backup-to there is no copier.
 */
import {hostname} from 'node:os';
import {join} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import {conflict} from '../../shared/errors.ts';
import type {BackupRequest} from '../../shared/ipc/backups.ts';
import {type CopiedTenant, STATE_DIRECTORY} from '../../shared/ipc/copier.ts';
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
  metrics: SupervisorMetrics;
  log: Logger;
} & Pick<DrillsParts, 'runErrand' | 'letPass'> &
  Pick<BasesParts, 'errands' | 'control' | 'beginTimeline'>;

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
    } else if (before === null || copied.isAwake !== isAwake(before)) this.#copier.tenantIs(copied);
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
        await flushCopies(this.#parts.placement.entries());
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
    const limits = {spoolBytesMax, tenantBytesMax};
    return new CopierProcess({
      settings: {
        ...{repository, keyFile, everyMs, heartbeatUrl, keep, ...limits, data},
        ...{host: hostname(), serverId, place: serverPlace(data)},
      },
      tenants: () => [...placement.entries()].flatMap(tenant => this.#copied(tenant) ?? []),
      onOpened: opened => this.#opened(opened),
      onBaseDue: tenant => this.#bases.due(tenant),
      onTimelineDue: tenant => void this.#bases.timelineDue(tenant),
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
    return {tenant: id, directory: this.#parts.files.path(id, generation), isAwake: isAwake(lifecycle)};
  }

  #opened(opened: CopierOpened): void {
    const {repositoryId} = opened;
    if (opened.type === 'started' && repositoryId !== null && repositoryId !== this.#identity!.repository_id) {
      this.#store({repository_id: repositoryId});
    }
    this.#onOpened?.(opened);
    if (opened.type === 'started' && repositoryId !== null) this.#state?.begin();
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
