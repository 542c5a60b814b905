/**
 * The egress policies of all tenants, stored where their code cannot change them: a worker, which may be compromised,
 * determines neither its identity nor its policy. A policy changes only with an operator's signed grant, is on disk
 * (`registry.ts`) before it is in force, and is in force before the change is answered.
 *
 * If the registry does not know a tenant's policy (the tenant is older than this feature, or the registry was lost),
 * the policy in the tenant's file is trusted once: before any of its code has run in the worker that reads it.
 */
import {randomBytes} from 'node:crypto';
import {egressSettingsIn} from '../../shared/egress/settings.ts';
import {isGranted} from '../../shared/egress/signed-grant.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {WorkerUser} from '../../shared/ipc/control.ts';
import type {EgressSettings, EndpointKey} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import {parseJson} from '../../shared/values/json.ts';
import type {Registry} from '../files/registry.ts';
import type {EgressProcess} from '../processes/egress-process.ts';
import type {PlacedTenant} from './tenant-entry.ts';

export type TenantEgressParts = {
  registry: Pick<Registry, 'egressOf' | 'setEgress'>;
  process: Pick<EgressProcess, 'grant' | 'revoke' | 'want'>;
  /** A path that no worker of this server had before. */
  nextEndpointPath: (user: WorkerUser | null) => string;
  grantKey: string;
  log: Logger;
};

export class TenantEgress {
  readonly #parts: TenantEgressParts;

  constructor(parts: TenantEgressParts) {
    this.#parts = parts;
  }

  /**
   * Called for a worker that is about to open this tenant.
   * @param user of the worker, who can traverse to its proxy endpoint
   */
  begin(tenant: PlacedTenant, user: WorkerUser | null): EndpointKey {
    const {registry, nextEndpointPath} = this.#parts;
    const key = {socketPath: nextEndpointPath(user), secret: randomBytes(24).toString('hex')};
    const policy = registry.egressOf(tenant.id, tenant.generation);
    if (policy !== null) this.#grant(tenant, key, policy);
    return key;
  }

  /** The tenant's worker has opened it. @param stored the policy in the tenant's file */
  opened(tenant: PlacedTenant, key: EndpointKey, stored: unknown): void {
    const {registry, log} = this.#parts;
    const claimed = egressSettingsIn(stored);
    const known = registry.egressOf(tenant.id, tenant.generation);
    if (known !== null) {
      if (JSON.stringify(known) === JSON.stringify(claimed)) return;
      log.error("a tenant's file and the registry name different egress policies: that of the registry holds", {
        tenant: tenant.id,
        holds: known,
      });
      return;
    }
    if (claimed === null) {
      log.error("a tenant's egress policy cannot be read: it reaches nothing until its settings are put", {
        tenant: tenant.id,
      });
      return;
    }
    try {
      registry.setEgress(tenant.id, tenant.generation, claimed);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      log.warn("a tenant's egress policy could not be stored: it is taken from its file again", {
        tenant: tenant.id,
        error: caught,
      });
    }
    this.#grant(tenant, key, claimed);
  }

  /** The tenant's code is about to run. */
  wanted(): void {
    this.#parts.process.want();
  }

  /**
   * Resolves when the policy is in force.
   * @param body of the request that changes it.
   * @throws auth.unauthorized 401: no operator signed it; session.storage_full 507
   */
  async put(tenant: PlacedTenant, key: EndpointKey, body: string, signedGrant: string): Promise<void> {
    const {registry, grantKey} = this.#parts;
    const policy = isGranted(grantKey, tenant.id, body, signedGrant) ? policyIn(body) : null;
    if (policy === null) throw new ServiceError('auth.unauthorized', 'no operator has changed this egress policy');
    registry.setEgress(tenant.id, tenant.generation, policy);
    await this.#parts.process.grant({...key, tenant: tenant.id, policy});
  }

  ended({socketPath}: EndpointKey): void {
    this.#parts.process.revoke(socketPath);
  }

  #grant({id}: PlacedTenant, key: EndpointKey, policy: EgressSettings): void {
    void this.#parts.process.grant({...key, tenant: id, policy});
  }
}

function policyIn(body: string): EgressSettings | null {
  return egressSettingsIn((parseJson(Buffer.from(body)) as {egress?: unknown} | null)?.egress);
}
