/**
 * The single walk over outside input parsed from JSON. It validates the value, converts its numbers in place, and
 * determines how the value is written (`canonical-json.ts`). The caller's policy decides what is allowed and how an
 * error is phrased: for native bodies, arguments and results of functions, or documents of functions.
 *
 * It uses nothing of Node, because isolates and browsers load it.
 */
import {FLOATS, keyTraits} from './canonical-json.ts';
import {decodeFloat} from './float-text.ts';
import type {Value} from './value.ts';
import {
  NESTING_LEVELS_MAX,
  VALUE_ARRAY_ELEMENTS_MAX,
  VALUE_KEY_CHARS_MAX,
  VALUE_OBJECT_FIELDS_MAX,
} from './value-limits.ts';

export type Path = readonly (string | number)[];

export type ParsedFault =
  | {reason: 'text' | 'number' | 'nesting' | 'float is no text' | 'float is no base64'}
  | {reason: 'plain float'; number: number}
  | {reason: 'array length' | 'field count'; count: number}
  | {reason: KeyFault; key: string};

export type KeyFault = 'reserved key' | 'key text' | 'key length' | 'key characters';

export type Policy = {
  /** Arrays, objects and keys have limits of their own, as in arguments. */
  readonly limited: boolean;
  /** `{"$float": …}` is a number that JSON cannot hold, and -0 is one, too. Otherwise -0 becomes 0. */
  readonly floats: boolean;
  /** @param path of the invalid value */
  fault(fault: ParsedFault, path: Path): Error;
};

type Walk = {readonly policy: Policy; traits: number; readonly path: (string | number)[]};

/** @throws the policy's error for a fault */
export function checkParsed(parsed: unknown, policy: Policy): {value: Value; traits: number} {
  const walk: Walk = {policy, traits: 0, path: []};
  const value = checked(parsed, walk, 1);
  return {value, traits: walk.traits};
}

/** The rule that a key breaks; null: none. @param limited as in a policy */
export function keyFault(key: string, limited: boolean): KeyFault | null {
  if (key.charCodeAt(0) === 0x24) return 'reserved key';
  if (!limited) return key.isWellFormed() ? null : 'key text';
  if (key.length > VALUE_KEY_CHARS_MAX) return 'key length';
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e) return 'key characters';
  }
  return null;
}

function checked(value: unknown, walk: Walk, level: number): Value {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw walk.policy.fault({reason: 'text'}, walk.path);
      return value;
    case 'number':
      return checkedNumber(value, walk);
    case 'object':
      if (value === null) return null;
      return Array.isArray(value)
        ? checkedArray(value, walk, level)
        : checkedObject(value as Record<string, unknown>, walk, level);
    default:
      return value as Value;
  }
}

function checkedNumber(number: number, walk: Walk): number {
  if (!Number.isFinite(number)) throw walk.policy.fault({reason: 'number'}, walk.path);
  if (!Object.is(number, -0)) return number;
  if (!walk.policy.floats) return 0;
  walk.traits |= FLOATS;
  return number;
}

function checkedArray(array: unknown[], walk: Walk, level: number): Value {
  const {policy, path} = walk;
  if (level > NESTING_LEVELS_MAX) throw policy.fault({reason: 'nesting'}, path);
  if (policy.limited && array.length > VALUE_ARRAY_ELEMENTS_MAX)
    throw policy.fault({reason: 'array length', count: array.length}, path);
  const depth = path.length;
  for (let i = 0; i < array.length; i++) {
    path[depth] = i;
    array[i] = checked(array[i], walk, level + 1);
  }
  path.length = depth;
  return array as Value[];
}

function checkedObject(object: Record<string, unknown>, walk: Walk, level: number): Value {
  const {policy, path} = walk;
  const keys = Object.keys(object);
  if (policy.floats && keys.length === 1 && keys[0] === '$float') return checkedFloat(object.$float, walk, level);
  if (level > NESTING_LEVELS_MAX) throw policy.fault({reason: 'nesting'}, path);
  if (policy.limited && keys.length > VALUE_OBJECT_FIELDS_MAX)
    throw policy.fault({reason: 'field count', count: keys.length}, path);
  const depth = path.length;
  let previous = '';
  for (const key of keys) {
    path[depth] = key;
    const fault = keyFault(key, policy.limited);
    if (fault !== null) throw policy.fault({reason: fault, key}, path);
    walk.traits |= keyTraits(key, previous);
    previous = key;
    const field = object[key];
    // Assigning to an own property cannot reach a setter, not even for `__proto__`; unchanged values are not assigned.
    const value = checked(field, walk, level + 1);
    if (!Object.is(value, field)) object[key] = value;
  }
  path.length = depth;
  return object as Value;
}

function checkedFloat(text: unknown, walk: Walk, level: number): number {
  const {policy, path} = walk;
  if (level > NESTING_LEVELS_MAX + 1) throw policy.fault({reason: 'nesting'}, path);
  if (typeof text !== 'string') throw policy.fault({reason: 'float is no text'}, path);
  const number = decodeFloat(text);
  if (number === null) throw policy.fault({reason: 'float is no base64'}, path);
  if (Number.isFinite(number) && !Object.is(number, -0)) throw policy.fault({reason: 'plain float', number}, path);
  walk.traits |= FLOATS;
  return number;
}
