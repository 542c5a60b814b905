/** What an operator decides about a tenant's functions: where they may connect to, and which pages may call them. */
import {ServiceError} from '../../shared/errors.ts';
import type {CommitGroups} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import {checkEgressPattern} from './egress/pattern.ts';
import {SETTINGS_KEY, storedSettings, type TenantFunctionSettings} from './stored-settings.ts';

export class Settings {
  readonly #groups: CommitGroups;
  #current: TenantFunctionSettings;

  constructor(writer: Writer, groups: CommitGroups) {
    this.#groups = groups;
    this.#current = storedSettings(writer.db);
  }

  get current(): TenantFunctionSettings {
    return this.#current;
  }

  /** They were changed, and the change is committed. */
  changed(settings: TenantFunctionSettings): void {
    this.#current = settings;
  }

  /** Replaces all of them. @throws op.invalid_input 400 */
  async put({egress, allowed_origins}: TenantFunctionSettings): Promise<void> {
    for (const pattern of [...egress.allow, ...egress.deny]) {
      const fault = checkEgressPattern(pattern);
      if (fault !== null) throw new ServiceError('op.invalid_input', fault);
    }
    for (const origin of allowed_origins ?? []) {
      if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
      throw new ServiceError(
        'op.invalid_input',
        `${JSON.stringify(origin)} is not an origin, like https://app.example`,
      );
    }
    const settings = {egress: {allow: egress.allow, deny: egress.deny}, allowed_origins};
    await this.#groups.perform(writer => {
      writer.statements.setMeta.run(SETTINGS_KEY, JSON.stringify(settings));
      writer.event({type: 'settings.changed', settings});
    });
  }
}
