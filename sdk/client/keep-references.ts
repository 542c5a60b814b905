/**
 * Builds a new value that shares all equal parts with an old one, so that comparing references shows exactly what
 * changed. Neither value is modified: containers that differ are copied, one level each.
 */
import type {Value} from '../values/value.ts';

/** @returns `before` itself when the two are equal */
export function keepReferences(before: Value | undefined, after: Value): Value {
  if (!isContainer(before) || !isContainer(after) || before === after) return after;
  if (Array.isArray(after)) return Array.isArray(before) ? keepElements(before, after) : after;
  return Array.isArray(before) ? after : keepFields(before, after);
}

type Fields = {[key: string]: Value | undefined};

function isContainer(value: Value | undefined): value is Value[] | Fields {
  return typeof value === 'object' && value !== null;
}

function keepFields(before: Fields, after: Fields): Value {
  const kept = {...after};
  const keys = Object.keys(after);
  let isEqual = keys.length === Object.keys(before).length;
  for (const key of keys) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    const value = after[key];
    // Assigning to an own property of a copy calls no setter, not even for `__proto__`.
    if (value !== undefined) kept[key] = keepReferences(old, value);
    if (!Object.is(kept[key], old)) isEqual = false;
  }
  return isEqual ? before : kept;
}

/** Documents are matched by their ids wherever they moved to, everything else by position. */
function keepElements(before: Value[], after: Value[]): Value {
  const byId = new Map<string, Value>();
  for (const element of before) {
    const id = idOf(element);
    if (id !== null) byId.set(id, element);
  }
  let isEqual = before.length === after.length;
  const kept = after.map((element, i) => {
    const id = idOf(element);
    const isInPlace = id === null || idOf(before[i]) === id;
    const value = keepReferences(isInPlace ? before[i] : (byId.get(id) ?? before[i]), element);
    if (!Object.is(value, before[i])) isEqual = false;
    return value;
  });
  return isEqual ? before : kept;
}

function idOf(value: Value | undefined): string | null {
  if (!isContainer(value) || Array.isArray(value)) return null;
  return typeof value._id === 'string' ? value._id : null;
}
