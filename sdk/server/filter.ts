/** `filter(q => …)`: an expression over each document, built once. Constants stand for themselves. */
import type {Value} from '../values/value.ts';
import type {DocumentByInfo, FieldPaths, FieldTypeFromFieldPath, GenericTableInfo} from './data-model.ts';

/** Made by the builder only. */
export abstract class Expression<T extends Value | undefined> {
  declare protected readonly _value: T;
}

export type ExpressionOrValue<T extends Value | undefined> = Expression<T> | T;

export interface FilterBuilder<TableInfo extends GenericTableInfo> {
  /**
   * In types only: has the compiler compare builders of two tables member by member. By the variance of `TableInfo` alone the
   * queries of a table would not be queries of any table, and no function over queries of any table could be written.
   */
  readonly _tableInfo?: {[Key in keyof TableInfo]-?: unknown};

  eq<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  neq<T extends Value | undefined>(l: ExpressionOrValue<T>, r: ExpressionOrValue<T>): Expression<boolean>;
  /** By the one order of all values: missing fields come before null, null before numbers. */
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
