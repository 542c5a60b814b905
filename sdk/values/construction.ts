/** Rules for building validators. Breaking one fails while the module is loaded, so a deploy shows the location. */
import {VALIDATOR_NAME_CHARS_MAX} from '../../shared/values/value-limits.ts';

export function isValidator(value: unknown): value is {isSvcValidator: true; isOptional: string} {
  return typeof value === 'object' && value !== null && (value as {isSvcValidator?: unknown}).isSvcValidator === true;
}

/** @param where for instance `v.object()` @param which for instance `field 'a'` */
export function checkMember(member: unknown, where: string, which: string, mayBeOptional: boolean): void {
  if (member === undefined) {
    throw new Error(`${where}: ${which} is undefined. This is often caused by circular imports between modules.`);
  }
  if (!isValidator(member)) throw new Error(`${where}: ${which} is not a validator; make one with v.…`);
  if (!mayBeOptional && member.isOptional === 'optional') {
    throw new Error(`${where}: ${which} may not be v.optional(…), which only fields of objects can be`);
  }
}

/** Checks the name of a field in a validator or a table. */
export function checkFieldName(name: string): void {
  if (name.length <= VALIDATOR_NAME_CHARS_MAX && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && /[^_]/.test(name)) return;
  throw new Error(
    `Invalid field name ${JSON.stringify(name.slice(0, 100))}: it must be an identifier (letters, digits, underscores, not only underscores) of at most ${VALIDATOR_NAME_CHARS_MAX} characters`,
  );
}
