/**
 * The quotas of keys, and which keys a new one replaces. Keys made by other keys have quotas of their own, so that the
 * holder of a key for one tenant cannot use up the quota of all others, nor the operator's:
 *
 *   a family    all descendants of one key that an admin credential made: KEYS_OF_FAMILY_MAX in addition to it
 *   families    all keys made by keys, together: KEYS_MADE_BY_KEYS_MAX
 *   all keys    KEYS_MAX
 *
 * A family stays the same when members end, because each records the id of the first key, even if that key is gone.
 */
import {rateLimited} from '../../shared/errors.ts';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import {KEYS_MADE_BY_KEYS_MAX, KEYS_MAX, KEYS_OF_FAMILY_MAX} from '../limits.ts';

type Records = ReadonlyMap<string, KeyRecord>;

/** The id of the first key of the family: the key's own, if an admin credential made it. */
export function familyOf(record: KeyRecord, records: Records): string {
  let known = record;
  // Records of earlier versions contain only the id of the key that made them.
  for (const seen = new Set<string>(); known.created_by !== null && !seen.has(known.id); ) {
    if (known.family !== undefined) return known.family;
    seen.add(known.id);
    const maker = records.get(known.created_by);
    if (maker === undefined) return known.created_by;
    known = maker;
  }
  return known.id;
}

/**
 * @param family of the new key; null: an admin credential makes it, so it begins a family
 * @returns keys to be removed, all of them expired.
 * @throws op.rate_limited 429
 */
export function makeRoom(records: Records, family: string | null, nowMs: number): string[] {
  const all = [...records.values()];
  const made = family === null ? [] : all.filter(({created_by}) => created_by !== null);
  const own = made.filter(record => familyOf(record, records) === family);
  const gone = new Set<string>();
  const bounds: [KeyRecord[], number, string][] = [
    [
      own,
      KEYS_OF_FAMILY_MAX,
      `the key that you use, with those it descends from and all they made, has ${KEYS_OF_FAMILY_MAX} keys`,
    ],
    [made, KEYS_MADE_BY_KEYS_MAX, `there are ${KEYS_MADE_BY_KEYS_MAX} keys that were made by keys`],
    [all, KEYS_MAX, `there are ${KEYS_MAX} keys`],
  ];
  for (const [counted, max, said] of bounds) {
    const left = counted.filter(({id}) => !gone.has(id));
    if (left.length < max) continue;
    const expired = left.filter(({expires_at}) => expires_at !== null && expires_at <= nowMs);
    if (expired.length === 0) throw rateLimited(`${said}, which is the maximum: revoke some`);
    for (const {id} of expired) gone.add(id);
  }
  return [...gone];
}
