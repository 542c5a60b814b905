/**
 * The argument of `filter(q => …)`, an expression that is built once and evaluated for each document. Constants can be
 * used as expressions.
 */
import type {Value} from '../values/value.ts';
import type {DocumentByInfo, FieldPaths, FieldTypeFromFieldPath, GenericTableInfo} from './data-model.ts';

/** An expression; only the builder creates it. */
export abstract class Expression<T extends Value | undefined> {
  declare protected readonly _value: T;
}

export type ExpressionOrValue<T extends Value | undefined> = Expression<T> | T;

export interface FilterBuilder<TableInfo extends GenericTableInfo> {
  /**
   * Exists in types only. It makes the compiler compare builders of two tables member by member. Compared by the
   * variance of `TableInfo` alone, a query of one table would not be assignable to a query of any table, so functions
   * over queries of any table could not be written.
   */
  readonly _tableInfo?: {[Key in keyof TableInfo]-?: unknown};

  eq<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  neq<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  /** Uses the order of all values: missing fields sort before null, and null before numbers. */
  lt<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  lte<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  gt<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  gte<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;

  add(l: ExpressionOrValue<number>, r: ExpressionOrValue<number>): Expression<number>;
  sub(l: ExpressionOrValue<number>, r: ExpressionOrValue<number>): Expression<number>;
  mul(l: ExpressionOrValue<number>, r: ExpressionOrValue<number>): Expression<number>;
  div(l: ExpressionOrValue<number>, r: ExpressionOrValue<number>): Expression<number>;
  mod(l: ExpressionOrValue<number>, r: ExpressionOrValue<number>): Expression<number>;
  neg(x: ExpressionOrValue<number>): Expression<number>;

  and(...exprs: ExpressionOrValue<boolean>[]): Expression<boolean>;
  or(...exprs: ExpressionOrValue<boolean>[]): Expression<boolean>;
  not(x: ExpressionOrValue<boolean>): Expression<boolean>;

  /** The document's value at a path. */
  field<FieldPath extends FieldPaths<TableInfo>>(
    fieldPath: FieldPath,
  ): Expression<FieldTypeFromFieldPath<DocumentByInfo<TableInfo>, FieldPath>>;
}
