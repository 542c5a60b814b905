/** The fields of a table: those its schema declares, then those found in some of its documents. */
import type {FieldType, StoredTableSchema} from '../../../shared/protocol/schema.ts';
import type {Value} from '../../../shared/values/value.ts';
import type {Doc} from './row-order.ts';

export type FoundType = Exclude<FieldType, 'any'> | 'null';

export type TableField = {
  readonly name: string;
  /** As the schema declares it; null: it does not. */
  readonly declared: FieldType | null;
  readonly isRequired: boolean;
  /** Types of the values that were found, the most frequent one first. */
  readonly found: readonly FoundType[];
  /** Share of the documents that have it. */
  readonly share: number;
};

export function typeOf(value: Value): FoundType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as 'string' | 'number' | 'boolean' | 'object';
}

export function tableFields(schema: StoredTableSchema | null, docs: readonly Doc[]): TableField[] {
  const counts = new Map<string, Map<FoundType, number>>();
  for (const doc of docs) {
    for (const [name, value] of Object.entries(doc)) {
      if (name.startsWith('_')) continue;
      const types = counts.get(name) ?? new Map<FoundType, number>();
      types.set(typeOf(value), (types.get(typeOf(value)) ?? 0) + 1);
      counts.set(name, types);
    }
  }
  const declared = schema?.fields ?? [];
  const names = [...new Set([...declared.map(({name}) => name), ...[...counts.keys()].sort()])];
  return names.map(name => {
    const entry = declared.find(field => field.name === name);
    const types = [...(counts.get(name) ?? [])].sort(([, a], [, b]) => b - a);
    const total = types.reduce((sum, [, count]) => sum + count, 0);
    return {
      name,
      declared: entry?.field_type ?? null,
      isRequired: entry?.required ?? false,
      found: types.map(([type]) => type),
      share: docs.length === 0 ? 0 : total / docs.length,
    };
  });
}

/** The type that values of a field are expected to have. */
export function expectedType({declared, found}: TableField): FieldType {
  if (declared !== null) return declared;
  const [first, ...others] = found.filter(type => type !== 'null');
  return first === undefined || others.length > 0 ? 'any' : first;
}
