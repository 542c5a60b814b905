/**
 * `{"$ref": n}` inside an operation of a transaction: the id that operation n wrote. All references are found,
 * validated and removed before anything runs, because values cannot have such a key. Their positions are filled in when
 * the operation runs.
 */
import {invalid} from '../../../shared/errors.ts';

/** Members of operations that can contain references. */
const MEMBERS = ['id', 'fields', 'patch', 'append', 'remove', 'mutation'];

export type Place = {
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  readonly of: number;
};

/**
 * Removes the references from an operation and puts empty texts in their positions.
 * @param kinds of the operations before it.
 * @throws op.invalid_input 400
 */
export function takeReferences(operation: object, kinds: readonly string[]): Place[] {
  const places: Place[] = [];
  const holder = operation as Record<string, unknown>;
  for (const member of MEMBERS) if (Object.hasOwn(holder, member)) visit(holder, member, kinds, places);
  for (const place of places) place.holder[place.key] = '';
  return places;
}

/** @param ids by position */
export function fillReferences(places: readonly Place[], ids: readonly string[]): void {
  for (const {holder, key, of} of places) holder[key] = ids[of];
}

function visit(holder: Place['holder'], key: string | number, kinds: readonly string[], places: Place[]): void {
  const value = holder[key];
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) visit(value as never, i, kinds, places);
  } else if (Object.hasOwn(value, '$ref')) {
    places.push({holder, key, of: judged(value as Record<string, unknown>, kinds)});
  } else {
    for (const name of Object.keys(value)) visit(value as never, name, kinds, places);
  }
}

function judged(reference: Record<string, unknown>, kinds: readonly string[]): number {
  const of = reference.$ref;
  if (Object.keys(reference).length > 1) throw invalid('a reference has no member but $ref');
  if (typeof of !== 'number' || !Number.isInteger(of) || of < 0 || of >= kinds.length) {
    const shown = JSON.stringify(of)?.slice(0, 40);
    throw invalid(`{"$ref": ${shown}} must be the position of an earlier operation, counted from 0`);
  }
  if (kinds[of] === 'delete') throw invalid(`{"$ref": ${of}} is a delete: it leaves no id behind`);
  return of;
}
