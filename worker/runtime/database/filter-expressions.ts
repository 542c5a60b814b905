/**
 * Filter expressions (`filter(q => …)`), compiled once per query and evaluated against parsed documents. Comparisons
 * use the total order of values and never fail. Arithmetic requires numbers, and `and`, `or`, `not` require booleans.
 */

import {COMPARISONS, type Predicate} from '../../../engine/reads/filter.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {compareValues} from '../../../shared/values/order.ts';
import {compilePath, type FieldPath, valueAt} from '../../../shared/values/paths.ts';
import type {Value} from '../../../shared/values/value.ts';
import {NESTING_LEVELS_MAX} from '../../../shared/values/value-limits.ts';
import {FILTER_NODES_MAX} from '../limits.ts';
import {DatabaseFault} from './database-fault.ts';
import {operand} from './wire-operand.ts';

type Evaluate = (document: Parameters<Predicate>[0]) => Value | undefined;

type Arithmetic = {verb: string; join: string; of: (a: number, b: number) => number};
const ARITHMETIC: Readonly<Record<string, Arithmetic>> = {
  add: {verb: 'add', join: 'and', of: (a, b) => a + b},
  sub: {verb: 'subtract', join: 'and', of: (a, b) => a - b},
  mul: {verb: 'multiply', join: 'and', of: (a, b) => a * b},
  div: {verb: 'divide', join: 'and', of: (a, b) => a / b},
  mod: {verb: 'take the remainder of', join: 'and', of: (a, b) => a % b},
};

/** The filters of one query. @param expressions from a realm, of any type. @throws DatabaseFault */
export function compileExpressions(expressions: readonly unknown[]): Predicate[] {
  const size = {nodes: 0};
  return expressions.map(expression => {
    const evaluate = compile(expression, 1, size);
    return document => {
      const result = evaluate(document);
      if (typeof result === 'boolean') return result;
      throw new DatabaseFault(`The result of a filter must be a boolean, but it is ${shown(result)}`);
    };
  });
}

function compile(expression: unknown, level: number, size: {nodes: number}): Evaluate {
  if (++size.nodes > FILTER_NODES_MAX) {
    throw new DatabaseFault(
      `The filters of a query are too large (maximum ${FILTER_NODES_MAX} operators, fields and values)`,
    );
  }
  if (!Array.isArray(expression) || level > NESTING_LEVELS_MAX * 4)
    throw new DatabaseFault('a filter is not an expression');
  const [operator, ...operands] = expression as [unknown, ...unknown[]];
  const name = String(operator);
  if (name === 'value') {
    const value = operand(operands[0]);
    return () => value;
  }
  if (name === 'field') {
    const path = fieldPath(String(operands[0]));
    return document => valueAt(document, path);
  }
  const inner = operands.map(item => compile(item, level + 1, size));
  const [a, b] = inner;
  if (Object.hasOwn(COMPARISONS, name) && a !== undefined && b !== undefined) {
    const test = COMPARISONS[name as keyof typeof COMPARISONS];
    return document => test(compareValues(a(document), b(document)));
  }
  if (Object.hasOwn(ARITHMETIC, name) && a !== undefined && b !== undefined) return arithmetic(ARITHMETIC[name]!, a, b);
  if (name === 'neg' && a !== undefined) return document => -number(a(document));
  if (name === 'not' && a !== undefined) return document => !boolean(a(document), 'not');
  if (name === 'and') return document => inner.every(item => boolean(item(document), 'and'));
  if (name === 'or') return document => inner.some(item => boolean(item(document), 'or'));
  throw new DatabaseFault(`${name} is not an operator of filters`);
}

function fieldPath(field: string): FieldPath {
  try {
    return compilePath(field);
  } catch (caught) {
    throw caught instanceof ServiceError ? new DatabaseFault(caught.message) : caught;
  }
}

function arithmetic({verb, join, of}: Arithmetic, a: Evaluate, b: Evaluate): Evaluate {
  return document => {
    const left = a(document);
    const right = b(document);
    if (typeof left === 'number' && typeof right === 'number') return of(left, right);
    throw new DatabaseFault(`Cannot ${verb} ${shown(left)} ${join} ${shown(right)}`);
  };
}

function number(value: Value | undefined): number {
  if (typeof value === 'number') return value;
  throw new DatabaseFault(`Cannot negate ${shown(value)}`);
}

function boolean(value: Value | undefined, operator: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new DatabaseFault(`The operands of ${operator} must be booleans, but one is ${shown(value)}`);
}

/** `1 (type number)` */
function shown(value: Value | undefined): string {
  if (value === undefined) return 'undefined (type undefined)';
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return `${(JSON.stringify(value) ?? '').slice(0, 100)} (type ${type})`;
}
