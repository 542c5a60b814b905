/**
 * The changes a patch can make to a document's top-level fields: set, remove, add to a number, append to or remove from
 * an array. They are computed inside the write from the current document, so concurrent patches do not lose each
 * other's changes.
 *
 * A missing field counts as 0 and as []. A patch names each field once, so the order of its parts has no effect.
 */

import {invalid, ServiceError} from '../../shared/errors.ts';
import type {FieldChanges} from '../../shared/protocol/documents.ts';
import {checkFields, mergeFields} from '../../shared/values/json.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {Value} from '../../shared/values/value.ts';
import {shownName} from '../storage/table-check.ts';
import type {Fields} from './commit.ts';

export const CHANGES = ['patch', 'unset', 'increment', 'append', 'remove'] as const satisfies (keyof FieldChanges)[];

/** @param at path of its members, for messages: empty, or ending with a dot. @throws op.invalid_input 400 */
export function checkChanges(changes: FieldChanges, at = ''): void {
  const seen = new Map<string, string>();
  for (const kind of CHANGES) {
    const change = changes[kind];
    if (change === undefined) continue;
    if (kind !== 'unset') checkFields(change, `${at}${kind}`);
    for (const name of namesIn(change)) {
      if (name.startsWith('_')) {
        throw invalid(
          `${at}${kind} names ${shownName(name)}, which begins with an underscore, as only system fields may`,
        );
      }
      const other = seen.get(name);
      if (other !== undefined)
        throw invalid(`field ${shownName(name)} is in ${at}${other} and in ${at}${kind}: name it once`);
      seen.set(name, kind);
    }
  }
}

/** The changes in a body that has other members too; null: none. */
export function changesIn(body: FieldChanges): FieldChanges | null {
  const named = CHANGES.filter(kind => body[kind] !== undefined);
  return named.length === 0 ? null : Object.fromEntries(named.map(kind => [kind, body[kind]]));
}

/** Whether it names any field. */
export function changesNothing(changes: FieldChanges): boolean {
  return CHANGES.every(kind => namesIn(changes[kind] ?? []).length === 0);
}

/** The document's fields after the changes. @throws op.conflict 409 when a field has the wrong type */
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

/** Deep equality of values. */
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
  return new ServiceError('op.conflict', `field ${shownName(name)} ${why}`, {field: name.slice(0, 140), found});
}
