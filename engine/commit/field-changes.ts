/**
 * What a patch may do to a document's top-level fields: set them, remove them, add to a number, and append to or remove from an
 * array. All of it is worked out inside the write, from the document as it is then: nobody's change is lost to another's.
 *
 * A field that is missing counts as 0 and as []. A field is named once in a patch: the order of its parts means nothing.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {FieldChanges} from '../../shared/protocol/documents.ts';
import {checkFields, mergeFields} from '../../shared/values/json.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {Value} from '../../shared/values/value.ts';
import type {Fields} from './commit.ts';

export const CHANGES = ['patch', 'unset', 'increment', 'append', 'remove'] as const satisfies (keyof FieldChanges)[];

/** @param at what its members are below, for messages: empty, or with a dot at its end. @throws op.invalid_input 400 */
export function checkChanges(changes: FieldChanges, at = ''): void {
  const seen = new Map<string, string>();
  for (const kind of CHANGES) {
    const change = changes[kind];
    if (change === undefined) continue;
    if (kind !== 'unset') checkFields(change, `${at}${kind}`);
    for (const name of namesIn(change)) {
      if (name.startsWith('_')) {
        throw invalid(`${at}${kind} names ${shown(name)}, which begins with an underscore, as only system fields may`);
      }
      const other = seen.get(name);
      if (other !== undefined)
        throw invalid(`field ${shown(name)} is in ${at}${other} and in ${at}${kind}: name it once`);
      seen.set(name, kind);
    }
  }
}

/** Those that a body has beside other members; null: none. */
export function changesIn(body: FieldChanges): FieldChanges | null {
  const named = CHANGES.filter(kind => body[kind] !== undefined);
  return named.length === 0 ? null : Object.fromEntries(named.map(kind => [kind, body[kind]]));
}

/** Whether it names any field. */
export function changesNothing(changes: FieldChanges): boolean {
  return CHANGES.every(kind => namesIn(changes[kind] ?? []).length === 0);
}

/** The document's fields afterwards. @throws op.conflict 409 when a field is not of the type that is needed */
export function changedFields(old: Fields, {patch = {}, unset, increment, append, remove}: FieldChanges): Fields {
  const fields = mergeFields(old, patch) as Record<string, Value>;
  for (const name of unset ?? []) delete fields[name];
  for (const [name, by] of Object.entries(increment ?? {})) fields[name] = sum(name, fields[name], by);
  for (const [name, values] of Object.entries(append ?? {})) {
    fields[name] = [...arrayIn(name, fields[name], 'appended to'), ...(values as Value[])];
  }
  for (const [name, values] of Object.entries(remove ?? {})) {
    if (fields[name] === undefined) continue;
    const removed = new Set((values as Value[]).map(identity));
    fields[name] = arrayIn(name, fields[name], 'removed from').filter(value => !removed.has(identity(value)));
  }
  return fields;
}

function sum(name: string, value: Value | undefined, by: number): number {
  if (value !== undefined && typeof value !== 'number') {
    throw conflict(name, value, `cannot be incremented: it is ${kindOf(value)}, not a number`);
  }
  const total = (value ?? 0) + by + 0; // never -0
  if (Number.isFinite(total)) return total;
  throw conflict(name, value ?? null, 'cannot be incremented: the sum is beyond the range of a double');
}

function arrayIn(name: string, value: Value | undefined, what: string): readonly Value[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw conflict(name, value, `cannot be ${what}: it is ${kindOf(value)}, not an array`);
}

/** Equal for values that are equal, at every depth. */
function identity(value: Value): string {
  return encodeKey([value]).toString('latin1');
}

function namesIn(change: object): readonly string[] {
  return Array.isArray(change) ? (change as string[]) : Object.keys(change);
}

function kindOf(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function conflict(name: string, value: Value, why: string): ServiceError {
  const found = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return new ServiceError('op.conflict', `field ${shown(name)} ${why}`, {field: name.slice(0, 140), found});
}

function shown(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}

function invalid(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
