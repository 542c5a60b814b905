/**
 * `q` of `filter(q => …)`. The callback runs once and builds an expression, which the host evaluates for every
 * document. The callback never sees a document.
 */
import type {FilterExpression} from './host-call.ts';
import {wireOperand} from './wire-operand.ts';

class Expression {
  readonly wire: FilterExpression;

  constructor(wire: FilterExpression) {
    this.wire = wire;
  }
}

function wireOf(operand: unknown): FilterExpression {
  return operand instanceof Expression ? operand.wire : ['value', wireOperand(operand)];
}

function operator(name: string) {
  return (...operands: unknown[]): Expression => new Expression([name, ...operands.map(wireOf)]);
}

const binary = (name: string) => {
  const make = operator(name);
  return (a: unknown, b: unknown): Expression => make(a, b);
};

const builder = Object.freeze({
  eq: binary('eq'),
  neq: binary('neq'),
  lt: binary('lt'),
  lte: binary('lte'),
  gt: binary('gt'),
  gte: binary('gte'),
  add: binary('add'),
  sub: binary('sub'),
  mul: binary('mul'),
  div: binary('div'),
  mod: binary('mod'),
  neg: (a: unknown) => new Expression(['neg', wireOf(a)]),
  not: (a: unknown) => new Expression(['not', wireOf(a)]),
  and: operator('and'),
  or: operator('or'),
  field: (path: unknown): Expression => {
    if (typeof path !== 'string') throw new TypeError("Must provide arg 1 'fieldPath' to 'field', a string");
    return new Expression(['field', path]);
  },
});

export function filterExpression(predicate: unknown): FilterExpression {
  if (typeof predicate !== 'function') throw new TypeError("Must provide arg 1 'predicate' to 'filter', a function");
  return wireOf(predicate(builder));
}

/** Not reachable from any global. */
export const filterPrototype: object = Expression.prototype;
