/**
 * `q` of `withIndex(name, q => …)`. Calls are chained: each builder is used once. The host checks the resulting range.
 */
import type {QueryRangeOp} from './host-call.ts';
import {wireOperand} from './wire-operand.ts';

class IndexRangeBuilder {
  readonly operations: readonly QueryRangeOp[];
  #isUsed = false;

  constructor(operations: readonly QueryRangeOp[]) {
    this.operations = operations;
  }

  eq(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('eq', field, value);
  }
  neq(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('neq', field, value);
  }
  gt(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('gt', field, value);
  }
  gte(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('gte', field, value);
  }
  lt(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('lt', field, value);
  }
  lte(field: unknown, value: unknown): IndexRangeBuilder {
    return this.#with('lte', field, value);
  }

  #with(op: QueryRangeOp['op'], field: unknown, value: unknown): IndexRangeBuilder {
    if (this.#isUsed) {
      throw new Error(
        'IndexRangeBuilder has already been used! Chain your method calls like `q => q.eq(...).eq(...)`.',
      );
    }
    if (typeof field !== 'string') throw new TypeError(`Must provide arg 1 'fieldName' to '${op}', a string`);
    this.#isUsed = true;
    return new IndexRangeBuilder([...this.operations, {op, field, value: wireOperand(value)}]);
  }
}

export function rangeOf(callback: unknown): QueryRangeOp[] {
  if (typeof callback !== 'function') throw new TypeError("Arg 2 'indexRange' to 'withIndex' must be a function");
  const range: unknown = callback(new IndexRangeBuilder([]));
  if (!(range instanceof IndexRangeBuilder))
    throw new TypeError('The range of withIndex must return what its builder made');
  return [...range.operations];
}

/** Not reachable from any global. */
export const rangePrototype: object = IndexRangeBuilder.prototype;
