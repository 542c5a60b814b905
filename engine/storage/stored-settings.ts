/** Settings of a tenant's functions in its file, for reads without loading the function platform. */
import type {Static} from 'typebox';
import type {JournalDeployment} from '../../shared/protocol/journal.ts';
import type {SettingsBody} from '../../shared/protocol/settings.ts';
import type {Connection} from './connection.ts';
import {storedMeta} from './meta.ts';
import type {DeploymentRow} from './statements.ts';

export type TenantFunctionSettings = Static<typeof SettingsBody>;

/** The meta value with the id of the active deployment. */
export const ACTIVE_KEY = 'active_deployment';
export const SETTINGS_KEY = 'function_settings';
const DEFAULT: TenantFunctionSettings = {egress: {allow: [], deny: []}, allowed_origins: null};

/** The last stored setting, or its default. */
export function storedSettings(db: Connection): TenantFunctionSettings {
  const stored = storedMeta(db, SETTINGS_KEY);
  return stored === undefined ? DEFAULT : (JSON.parse(String(stored)) as TenantFunctionSettings);
}

/**
 * Since when the active deployment is active; 0: there is none. Damage is ignored here: loading the deployment reports
 * it.
 */
export function activatedMs(db: Connection): number {
  const select = db.prepare<[string], number>(
    'SELECT activated_at FROM deployments WHERE id = (SELECT value FROM meta WHERE key = ?)',
  );
  return select.pluck().get(ACTIVE_KEY) ?? 0;
}

/** A deployment as the journal describes it: references to its code, not the code. */
export function journalDeployment(row: Omit<DeploymentRow, 'manifest'>): JournalDeployment {
  const {id, created_at, activated_at, message, hash} = row;
  const files = JSON.parse(row.files) as JournalDeployment['files'];
  return {id, created_at, activated_at, message, development: row.development === 1, hash, files};
}
