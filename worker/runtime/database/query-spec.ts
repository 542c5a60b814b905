/** Parses a realm's query: checks its shape here; other files interpret it. */
import type {FilterExpression, QueryRangeOp, QuerySpec} from '../guest/host-call.ts';
import {DatabaseFault} from './database-fault.ts';
import {parseRealmJson} from './realm-json.ts';

const RANGE_OPERATORS: readonly unknown[] = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'];

/** @throws DatabaseFault */
export function readQuerySpec(text: string): QuerySpec {
  const {table, index, order, filters} = recordOf(parseRealmJson(text));
  if (typeof table !== 'string' || !Array.isArray(filters)) throw incomplete();
  if (order !== 'asc' && order !== 'desc') throw incomplete();
  return {table, index: index === null ? null : readIndex(index), order, filters: filters as FilterExpression[]};
}

function readIndex(index: unknown): QuerySpec['index'] {
  const {name, range} = recordOf(index);
  if (typeof name !== 'string' || !Array.isArray(range)) throw incomplete();
  return {name, range: range.map(readOperation)};
}

function readOperation(operation: unknown): QueryRangeOp {
  const {op, field, value} = recordOf(operation);
  if (typeof field !== 'string' || !RANGE_OPERATORS.includes(op)) throw incomplete();
  return {op: op as QueryRangeOp['op'], field, value};
}

function recordOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw incomplete();
  return value as Record<string, unknown>;
}

function incomplete(): DatabaseFault {
  return new DatabaseFault('a query is not complete');
}
