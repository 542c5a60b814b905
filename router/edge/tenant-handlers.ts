/** The tenant routes. The router answers them from its list and through the supervisor, which owns the registry. */
import type {Buffer} from 'node:buffer';
import {Compile} from 'typebox/compile';
import {ServiceError} from '../../shared/errors.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import {CreateTenantBody, TENANT_ID} from '../../shared/protocol/tenants.ts';
import {parseJson} from '../../shared/values/json.ts';
import {judgeTenant, maySeeTenant} from '../auth/rights.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import type {TenantDirectory} from '../tenants/directory.ts';

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
