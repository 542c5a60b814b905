/** A tenant's egress policy as it is stored and shown: its validation, and the policy of a new tenant. */
import type {EgressSettings} from '../ipc/egress.ts';
import {EGRESS_PATTERNS_MAX} from '../limits.ts';
import {parseEgressPattern} from './pattern.ts';

/** The defaults stay: nothing extra is allowed, and nothing extra is denied. */
export const NO_EGRESS_SETTINGS: EgressSettings = {allow: [], deny: []};

/** The policy in this outside value; null if it is not one. */
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
