/**
 * The argument of `withIndex(name, q => …)`, which fixes fields with `eq` in the index's order, then bounds the next
 * field. Each step has its own type, so that only valid continuations compile.
 */
import type {FieldTypeFromFieldPath, GenericDocument, GenericIndexFields, IndexTiebreakerField} from './data-model.ts';

/** A finished range; only the builder creates it. */
export abstract class IndexRange {
  declare protected readonly _isIndexRange: never;
}

/**
 * The builder at a position of the index; its field is `Fields[FieldNum]`. Every position has all members, so that they
 * exist even if the index is only known as a type parameter.
 */
export interface IndexRangeBuilder<
  Document extends GenericDocument,
  Fields extends GenericIndexFields,
  FieldNum extends number = 0,
> extends IndexRange,
    LowerBound<Document, Fields[FieldNum], 'upper' | 'unequal'>,
    UpperBound<Document, Fields[FieldNum], 'unequal'>,
    Inequality<Document, Fields[FieldNum], 'lower' | 'upper'> {
  /** Matches documents whose field has exactly this value. `undefined` matches documents without the field. */
  eq(
    fieldName: Fields[FieldNum],
    value: FieldTypeFromFieldPath<Document, Fields[FieldNum]>,
  ): NextPosition<Document, Fields, FieldNum>;
}

/**
 * After the declared fields comes the creation time, then nothing. If the fields are not known, any field can follow.
 */
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

/** Adds one, up to the maximum number of fields of an index. */
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
  /** Matches every other value, and documents without the field. */
  neq(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): BoundsLeft<Document, Field, Left>;
}
