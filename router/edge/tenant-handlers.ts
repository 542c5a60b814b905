/** The tenant routes. The router answers them from its list and through the supervisor, which owns the registry. */
import type {Buffer} from 'node:buffer';
import {Compile} from 'typebox/compile';
import {ServiceError} from '../../shared/errors.ts';
import type {OverviewRequest} from '../../shared/ipc/overview.ts';
import {OVERVIEW_PAGE_TENANTS_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import {OVERVIEW_ORDERS, PAUSE_MODES, TENANT_STATES} from '../../shared/protocol/tenant-status.ts';
import {CreateTenantBody} from '../../shared/protocol/tenants.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {parseJson} from '../../shared/values/json.ts';
import {numberIn} from '../auth/audited.ts';
import {judgeTenant, maySeeTenant} from '../auth/rights.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import type {TenantDirectory} from '../tenants/directory.ts';

const OVERVIEW_LIMIT_DEFAULT = 50;
const createBody = Compile(CreateTenantBody);

/** GET /api/tenants → 200 {tenants: [string]}, sorted: all tenants that the credential is valid for. */
export function listTenants(directory: TenantDirectory, exchange: Exchange): void {
  const tenants = directory.ids().filter(id => maySeeTenant(exchange.principal, id));
  exchange.reply(ROUTER_OPERATIONS['tenants.list'].success, JSON.stringify({tenants}));
}

/** POST /api/tenants {id} → 201 {id}. @throws op.invalid_input 400, session.tenant_exists 409 */
export async function createTenant(control: ControlChannel, exchange: Exchange): Promise<void> {
  const id = decodeCreateBody(exchange.body);
  judgeTenant(exchange.principal, id);
  await control.changeTenant('tenant_create', id);
  exchange.reply(ROUTER_OPERATIONS['tenants.create'].success, JSON.stringify({id}));
}

/** DELETE /api/tenants/{tenant_id} → 204, once its worker has ended and its files are gone. */
export async function deleteTenant(control: ControlChannel, exchange: Exchange): Promise<void> {
  await control.changeTenant('tenant_delete', exchange.tenantId);
  exchange.reply(ROUTER_OPERATIONS['tenants.delete'].success, '');
}

/** GET /api/overview/tenants → 200: a page of the tenants that the credential is valid for, with their states */
export async function showOverview(control: ControlChannel, exchange: Exchange, query: string): Promise<void> {
  const {principal} = exchange;
  const tenants = principal?.key.tenants ?? null;
  const visible = tenants === null ? null : [...tenants];
  const page = await control.status({action: 'tenants_overview', page: overviewRequest(query), visible});
  exchange.reply(ROUTER_OPERATIONS['tenants.overview'].success, JSON.stringify(page));
}

/** GET /api/tenants/{tenant_id}/status → 200 {tenant} */
export async function showTenant(control: ControlChannel, exchange: Exchange): Promise<void> {
  const found = await control.status({action: 'tenant_status', tenant: exchange.tenantId});
  exchange.reply(ROUTER_OPERATIONS['tenants.status'].success, JSON.stringify(found));
}

const ACTIONS = {
  'tenants.wake': 'wake',
  'tenants.sleep': 'sleep',
  'tenants.pause': 'pause',
  'tenants.resume': 'resume',
} as const;

/** POST /api/tenants/{tenant_id}/wake, sleep, pause?serve=, resume → 200 {tenant}, once it is done */
export async function controlTenant(
  control: ControlChannel,
  exchange: Exchange,
  operation: keyof typeof ACTIONS,
  query: string,
): Promise<void> {
  const {tenantId: tenant} = exchange;
  const isForReads =
    operation === 'tenants.pause' && oneIn(new URLSearchParams(query), 'serve', PAUSE_MODES) === 'reads';
  const does = isForReads ? 'pause_for_reads' : ACTIONS[operation];
  const done = await control.status({action: 'tenant_control', tenant, does});
  exchange.reply(ROUTER_OPERATIONS[operation].success, JSON.stringify(done));
}

/** Parses the query string. @throws op.invalid_input 400 */
function overviewRequest(query: string): OverviewRequest {
  const parameters = new URLSearchParams(query);
  const limit = numberIn(parameters, 'limit') ?? OVERVIEW_LIMIT_DEFAULT;
  if (limit < 1) throw new ServiceError('op.invalid_input', 'limit must be 1 at least');
  return {
    limit: Math.min(limit, OVERVIEW_PAGE_TENANTS_MAX),
    cursor: parameters.get('cursor'),
    search: parameters.get('search') ?? '',
    state: oneIn(parameters, 'state', TENANT_STATES),
    order: oneIn(parameters, 'order', OVERVIEW_ORDERS) ?? 'id',
  };
}

function oneIn<T extends string>(parameters: URLSearchParams, name: string, values: readonly T[]): T | null {
  const text = parameters.get(name);
  if (text === null) return null;
  const value = values.find(each => each === text);
  if (value === undefined) throw new ServiceError('op.invalid_input', `${name} must be one of ${values.join(', ')}`);
  return value;
}

function decodeCreateBody(bytes: Buffer): string {
  const body = parseJson(bytes);
  if (!createBody.Check(body)) {
    throw new ServiceError('op.invalid_input', 'the body must be an object with the string id');
  }
  if (!TENANT_ID.test(body.id)) {
    throw new ServiceError(
      'op.invalid_input',
      'a tenant id has 1 to 64 letters, digits, - and _, and begins with a letter or digit',
    );
  }
  return body.id;
}
