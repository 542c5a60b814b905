/**
 * `withIndex(name, q => …)`: fields fixed by `eq` in the index's order, then bounds on the one field behind them. A type a
 * step: what may come next is all that can be written.
 */
import type {FieldTypeFromFieldPath, GenericDocument, GenericIndexFields, IndexTiebreakerField} from './data-model.ts';

/** A finished range. Made by the builder only. */
export abstract class IndexRange {
  declare protected readonly _isIndexRange: never;
}

/**
 * At a position of the index: its field is `Fields[FieldNum]`. Every position has every member, so that the builder of an
 * index that is only known by a type parameter has them, too.
 */
export interface IndexRangeBuilder<
  Document extends GenericDocument,
  Fields extends GenericIndexFields,
  FieldNum extends number = 0,
> extends IndexRange,
    LowerBound<Document, Fields[FieldNum], 'upper' | 'unequal'>,
    UpperBound<Document, Fields[FieldNum], 'unequal'>,
    Inequality<Document, Fields[FieldNum], 'lower' | 'upper'> {
  /** Documents whose field is exactly this value. `undefined`: those that do not have it. */
  eq(
    fieldName: Fields[FieldNum],
    value: FieldTypeFromFieldPath<Document, Fields[FieldNum]>,
  ): NextPosition<Document, Fields, FieldNum>;
}

/** Behind the listed fields comes the creation time, and behind that nothing. Where fields are not known, anything may. */
type NextPosition<
  Document extends GenericDocument,
  Fields extends GenericIndexFields,
  FieldNum extends number,
> = number extends Fields['length']
  ? IndexRangeBuilder<Document, Fields, FieldNum>
  : PlusOne<FieldNum> extends Fields['length']
    ? Fields[FieldNum] extends IndexTiebreakerField
      ? IndexRange
      : IndexRangeBuilder<Document, [IndexTiebreakerField]>
    : IndexRangeBuilder<Document, Fields, PlusOne<FieldNum>>;

/** As far as an index has fields. */
type PlusOne<Num extends number> = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17][Num];

type Bound = 'lower' | 'upper' | 'unequal';

type BoundsLeft<Document extends GenericDocument, Field extends string, Left extends Bound> = IndexRange &
  ('lower' extends Left ? LowerBound<Document, Field, Exclude<Left, 'lower'>> : unknown) &
  ('upper' extends Left ? UpperBound<Document, Field, Exclude<Left, 'lower' | 'upper'>> : unknown) &
  ('unequal' extends Left ? Inequality<Document, Field, Exclude<Left, 'unequal'>> : unknown);

interface LowerBound<Document extends GenericDocument, Field extends string, Left extends Bound> {
  gt(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
  gte(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
}

interface UpperBound<Document extends GenericDocument, Field extends string, Left extends Bound> {
  lt(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
  lte(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
}

interface Inequality<Document extends GenericDocument, Field extends string, Left extends Bound> {
  /** All but this value; documents without the field included. */
  neq(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
}
