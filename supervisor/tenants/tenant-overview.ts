/** The states of tenants, for operators: a page of them, or one. */
import {unreachable} from '../../shared/assert.ts';
import {type ErrorCode, ServiceError} from '../../shared/errors.ts';
import type {OverviewRequest, StatusRequest} from '../../shared/ipc/overview.ts';
import type {OverviewOrder, TenantState, TenantStatus} from '../../shared/protocol/tenant-status.ts';
import type {Figures} from '../figures/figures.ts';
import type {TenantsTraffic} from '../figures/tenant-traffic.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import type {Placement} from './placement.ts';
import type {TenantControl} from './tenant-control.ts';
import type {TenantEntry} from './tenant-entry.ts';
import {type Page, type PagedTenant, tenantPage} from './tenant-page.ts';

const ALL: OverviewRequest = {limit: 1, cursor: null, search: '', state: null, order: 'id'};
const DAMAGED: ErrorCode = 'op.storage_damaged';

export type TenantOverviewParts = {
  placement: Pick<Placement, 'entries' | 'find'>;
  control: TenantControl;
  traffic: TenantsTraffic;
  figures: Figures;
  files: TenantFiles;
  /** Null: not known. */
  documentsOf: (tenant: string) => number | null;
};

export class TenantOverview {
  readonly #parts: TenantOverviewParts;

  constructor(parts: TenantOverviewParts) {
    this.#parts = parts;
  }

  /** @returns the body of the route's answer. @throws ServiceError */
  async perform(request: Exclude<StatusRequest, {action: 'server_status'}>): Promise<unknown> {
    switch (request.action) {
      case 'tenants_overview':
        return this.#page(request.page, request.visible);
      case 'figures':
        return await this.#figures(request);
      case 'tenant_status':
        return {tenant: this.#status(this.#entry(request.tenant))};
      case 'tenant_control':
        return await this.#act(request);
      default:
        return unreachable(request);
    }
  }

  /** Tenants by state. */
  states(): Pick<Page<TenantStatus>, 'total' | 'states'> {
    const {total, states} = tenantPage(this.#tenants('id', null), ALL);
    return {total, states};
  }

  async #act({tenant: id, does}: StatusRequest & {action: 'tenant_control'}): Promise<unknown> {
    const {control} = this.#parts;
    const tookMs = does === 'wake' ? await control.wake(id) : null;
    if (does === 'sleep') await control.sleep(id);
    if (does === 'pause') await control.pause(id, 'nothing');
    if (does === 'pause_for_reads') await control.pause(id, 'reads');
    if (does === 'resume') await control.resume(id);
    const tenant = this.#status(this.#entry(id));
    return tookMs === null ? {tenant} : {tenant, took_ms: tookMs};
  }

  #figures({tenant, of, range}: StatusRequest & {action: 'figures'}): Promise<unknown> {
    const {figures} = this.#parts;
    if (tenant === null) return figures.of(null, range);
    const {generation} = this.#entry(tenant);
    return of === 'functions' ? figures.ofFunctions(generation, range) : figures.of(generation, range);
  }

  #page(request: OverviewRequest, visible: readonly string[] | null): Page<TenantStatus> {
    const page = tenantPage(this.#tenants(request.order, visible), request);
    return {...page, tenants: page.tenants.map(entry => this.#status(entry))};
  }

  *#tenants(order: OverviewOrder, visible: readonly string[] | null): Generator<PagedTenant<TenantEntry>> {
    const {placement} = this.#parts;
    const entries = visible === null ? placement.entries() : visible.flatMap(id => placement.find(id) ?? []);
    for (const entry of entries) {
      if (entry.lifecycle.state === 'deleting') continue;
      yield {of: entry, id: entry.id, state: stateOf(entry), value: this.#valueOf(entry, order)};
    }
  }

  #valueOf(entry: TenantEntry, order: OverviewOrder): number {
    if (order === 'id') return 0;
    if (order === 'last_active') return entry.lastActiveMs;
    const {requestsPerSecond, errorRate, p99Ms, sockets} = this.#parts.traffic.recent(entry.id);
    return {requests: requestsPerSecond, errors: errorRate, p99: p99Ms ?? 0, sockets}[order];
  }

  #entry(id: string): TenantEntry {
    const entry = this.#parts.placement.find(id);
    if (entry !== undefined) return entry;
    throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
  }

  #status(entry: TenantEntry): TenantStatus {
    const {traffic, files, documentsOf} = this.#parts;
    const state = stateOf(entry);
    const error = state === 'damaged' || state === 'cool_down' ? entry.openError : null;
    const recent = traffic.recent(entry.id);
    return {
      id: entry.id,
      state,
      serves: state === 'paused' ? (entry.isReadOnly ? 'reads' : 'nothing') : 'all',
      error: error === null ? null : {code: error.code, message: error.message},
      created_at: entry.createdMs,
      disk_bytes: files.fileState(entry.id, entry.generation).bytes,
      documents: documentsOf(entry.id),
      requests_per_second: recent.requestsPerSecond,
      error_rate: recent.errorRate,
      p50_ms: recent.p50Ms,
      p99_ms: recent.p99Ms,
      sockets: recent.sockets,
      last_active_at: entry.lastActiveMs === 0 ? null : entry.lastActiveMs,
      wakes: [...entry.wakes.last],
    };
  }
}

/** One that is paused and answers reads has a worker or not, which is of no interest. */
function stateOf(entry: TenantEntry): TenantState {
  const state = stateOfWorker(entry);
  return entry.isReadOnly && WITHOUT_FAULT.has(state) ? 'paused' : state;
}

const WITHOUT_FAULT: ReadonlySet<TenantState> = new Set(['asleep', 'waking', 'awake']);

/** A tenant that is closing, or waits for an attempt after a crash, is what it becomes. */
function stateOfWorker({lifecycle, openError}: TenantEntry): TenantState {
  switch (lifecycle.state) {
    case 'asleep':
      return openError?.code === DAMAGED ? 'damaged' : 'asleep';
    case 'acquiring':
    case 'queued':
    case 'waking':
      return 'waking';
    case 'remote':
    case 'handing_over':
    case 'awake':
    case 'releasing':
    case 'moving':
      return 'awake';
    case 'closing':
      return lifecycle.wanted ? 'waking' : 'asleep';
    case 'resting':
      return lifecycle.error?.code === DAMAGED ? 'damaged' : 'cool_down';
    case 'pausing':
    case 'paused':
      return 'paused';
    case 'errand':
      if (lifecycle.isPaused) return 'paused';
      return lifecycle.wanted ? 'waking' : 'asleep';
    case 'deleting':
      return 'asleep';
    default:
      return unreachable(lifecycle);
  }
}
