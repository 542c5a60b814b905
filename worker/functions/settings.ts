/**
 * What an operator decides about a tenant's functions: where they may connect to, and which pages may call them.
 * GET|PUT /api/tenants/{tenant_id}/settings
 */
import type {Buffer} from 'node:buffer';
import type {Static} from 'typebox';
import {ServiceError} from '../../shared/errors.ts';
import {SettingsBody} from '../../shared/protocol/deployments.ts';
import type {CommitGroups, Reply} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import {decodeBody, wireType} from '../wire-type.ts';
import {checkEgressPattern} from './egress/pattern.ts';

export type TenantFunctionSettings = Static<typeof SettingsBody>;

const KEY = 'function_settings';
const DEFAULT: TenantFunctionSettings = {egress: {allow: [], deny: []}, allowed_origins: null};
const settingsBody = wireType(SettingsBody);

export class Settings {
  readonly #groups: CommitGroups;
  readonly #listeners: (() => void)[] = [];
  #current: TenantFunctionSettings;

  constructor(writer: Writer, groups: CommitGroups) {
    this.#groups = groups;
    const stored = writer.statements.meta.get(KEY);
    this.#current = stored === undefined ? DEFAULT : (JSON.parse(String(stored)) as TenantFunctionSettings);
  }

  get current(): TenantFunctionSettings {
    return this.#current;
  }

  onChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Replaces all of them. @throws op.invalid_input 400 */
  async put(body: Buffer): Promise<Reply> {
    const {egress, allowed_origins} = decodeBody(settingsBody, body);
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
      writer.statements.setMeta.run(KEY, JSON.stringify(settings));
      writer.event({type: 'settings.changed'});
    });
    this.#current = settings;
    for (const listener of this.#listeners) listener();
    return {status: 204, body: ''};
  }
}
