/** The egress policy of a tenant, as it is stored and told: what is wrong with one, and the one of a new tenant. */
import type {EgressSettings} from '../ipc/egress.ts';
import {EGRESS_PATTERNS_MAX} from '../limits.ts';
import {parseEgressPattern} from './pattern.ts';

/** Nothing is opened that is closed, and nothing closed that is open. */
export const NO_EGRESS_SETTINGS: EgressSettings = {allow: [], deny: []};

/** The policy in this value from outside; null: it is none. */
export function egressSettingsIn(value: unknown): EgressSettings | null {
  if (typeof value !== 'object' || value === null) return null;
  const {allow, deny} = value as Record<string, unknown>;
  return arePatterns(allow) && arePatterns(deny) ? {allow, deny} : null;
}

function arePatterns(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= EGRESS_PATTERNS_MAX &&
    value.every(entry => typeof entry === 'string' && typeof parseEgressPattern(entry) !== 'string')
  );
}
