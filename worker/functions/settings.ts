/** Operator settings of a tenant's functions: allowed egress, and the origins that can call them. */

import type {Cause} from '../../engine/commit/cause.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {SETTINGS_KEY, storedSettings, type TenantFunctionSettings} from '../../engine/storage/stored-settings.ts';
import {checkEgressPattern} from '../../shared/egress/pattern.ts';
import {invalid} from '../../shared/errors.ts';
import type {WorkerEgress} from '../runtime/egress/worker-egress.ts';

/** The raw body of a request, and its signed grant. */
export type OperatorGrant = {body: string; signedGrant: string};

export class Settings {
  readonly #groups: CommitGroups;
  readonly #egress: Pick<WorkerEgress, 'put'>;
  #current: TenantFunctionSettings;

  constructor(writer: Writer, groups: CommitGroups, egress: Pick<WorkerEgress, 'put'>) {
    this.#groups = groups;
    this.#egress = egress;
    this.#current = storedSettings(writer.db);
  }

  get current(): TenantFunctionSettings {
    return this.#current;
  }

  /** The settings have changed, and the change is committed. */
  changed(settings: TenantFunctionSettings): void {
    this.#current = settings;
  }

  /**
   * Replaces the given settings. The egress policy takes effect before it is stored here, because the supervisor
   * enforces it.
   * @throws op.invalid_input 400, session.storage_full 507
   */
  async put(change: Partial<TenantFunctionSettings>, {body, signedGrant}: OperatorGrant, cause?: Cause): Promise<void> {
    const {egress, allowed_origins} = change;
    for (const pattern of [...(egress?.allow ?? []), ...(egress?.deny ?? [])]) {
      const fault = checkEgressPattern(pattern);
      if (fault !== null) throw invalid(fault);
    }
    for (const origin of allowed_origins ?? []) {
      if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
      throw invalid(`${JSON.stringify(origin)} is not an origin, like https://app.example`);
    }
    if (egress !== undefined) await this.#egress.put(body, signedGrant);
    await this.#groups.perform(writer => {
      const settings = {...storedSettings(writer.db)};
      if (egress !== undefined) settings.egress = {allow: egress.allow, deny: egress.deny};
      if (allowed_origins !== undefined) settings.allowed_origins = allowed_origins;
      writer.statements.setMeta.run(SETTINGS_KEY, JSON.stringify(settings));
      writer.event({type: 'settings.changed', settings});
    }, cause);
  }
}
