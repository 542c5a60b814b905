/** The documents of a result in the form of the response: whole, or the fields that `select` names. */
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {storedText} from '../../shared/values/json.ts';
import {compilePath, type FieldPath} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';
import {documentText, type ParsedDocument, parseDocument} from '../storage/document.ts';
import type {DocumentRow} from '../storage/rows.ts';

/** JSON of a document. `parsed`: the same document, if it has been parsed. */
export type Show = (row: DocumentRow, parsed?: ParsedDocument | null) => string;

/** The value at a path. `true`: all of it; otherwise the members to select of an object. */
type Taken = true | Map<string, Taken>;

const SYSTEM_FIELDS = ['_id', '_creationTime', '_updateTime'];

/** @throws op.invalid_input 400 for an invalid path */
export function showOf({select}: Pick<QueryObject, 'select'>): Show {
  if (select === undefined) return documentText;
  const taken = new Map<string, Taken>([['_id', true]]);
  for (const field of select) take(taken, compilePath(field));
  const own = new Map([...taken].filter(([name]) => !SYSTEM_FIELDS.includes(name)));
  const system = SYSTEM_FIELDS.filter(name => taken.has(name));
  return (row, parsed) => {
    const document = parsed ?? parseDocument(row);
    const head = system.map(name => `"${name}":${JSON.stringify(document[name])}`).join(',');
    const fields = partOf(document, own) ?? {};
    const text = row.flags === 0 ? storedText(fields) : JSON.stringify(fields);
    return text === '{}' ? `{${head}}` : `{${head},${text.slice(1)}`;
  };
}

function take(taken: Map<string, Taken>, path: FieldPath): void {
  const [step, ...rest] = path as [string, ...string[]];
  const known = taken.get(step);
  if (known === true) return;
  if (rest.length === 0) taken.set(step, true);
  else {
    const inner = known ?? new Map<string, Taken>();
    taken.set(step, inner);
    take(inner, rest);
  }
}

/** Undefined: the document has none of it. */
function part(value: Value, taken: Taken): Value | undefined {
  if (taken === true) return value;
  return typeof value !== 'object' || value === null || Array.isArray(value) ? undefined : partOf(value, taken);
}

function partOf(
  value: Readonly<Record<string, Value>>,
  taken: ReadonlyMap<string, Taken>,
): Record<string, Value> | undefined {
  let object: Record<string, Value> | undefined;
  for (const [name, inner] of taken) {
    const found = Object.hasOwn(value, name) ? part(value[name]!, inner) : undefined;
    if (found === undefined) continue;
    object ??= Object.create(null) as Record<string, Value>;
    object[name] = found;
  }
  return object;
}
