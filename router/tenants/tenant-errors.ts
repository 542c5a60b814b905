/** What requests get while a tenant is not served. */
import {ServiceError, unavailable} from '../../shared/errors.ts';

/** One message for both, so that an id that cannot exist and one that does not exist are indistinguishable. */
export function tenantNotFound(id: string): ServiceError {
  return new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
}

export function tenantMoves(id: string): ServiceError {
  return unavailable(`tenant ${JSON.stringify(id)} moves to another worker; try again`);
}

export function tenantReplaced(id: string): ServiceError {
  return unavailable(`the file of tenant ${JSON.stringify(id)} is being replaced; try again`);
}
