/**
 * Filters that find the documents that a field's declaration refuses. Values of one type are one range of the order of
 * all values (missing < null < numbers < false < true < strings < arrays < objects), so a type is a range.
 */
import type {FilterClause} from '../../../shared/protocol/queries.ts';
import type {FieldEntry, FieldType} from '../../../shared/protocol/schema.ts';

type Bound = unknown;
/** The least value of a type, and the least one above it; undefined: there is none. */
const RANGES: Readonly<Record<Exclude<FieldType, 'any'>, readonly [from: Bound, to: Bound | undefined]>> = {
  number: [null, false],
  boolean: [false, ''],
  string: ['', []],
  array: [[], {}],
  object: [{}, undefined],
};

/** @returns filters that match the refused documents; null: the declaration refuses none */
export function refusedFilters({name: field, field_type: type, required}: FieldEntry): FilterClause[] | null {
  const branches: (FilterClause | FilterClause[])[] = [];
  if (required) branches.push({field, op: 'exists', value: false});
  if (required && type !== 'any') branches.push({field, op: 'eq', value: null});
  if (type !== 'any') {
    const [from, to] = RANGES[type];
    // Numbers begin right above null.
    if (from !== null)
      branches.push([
        {field, op: 'gt', value: null},
        {field, op: 'lt', value: from},
      ]);
    if (to !== undefined) branches.push({field, op: 'gte', value: to});
  }
  const [only] = branches;
  if (only === undefined) return null;
  return branches.length === 1 ? [only].flat() : [{or: branches}];
}
