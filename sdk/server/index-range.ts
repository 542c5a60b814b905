/**
 * `withIndex(name, q => …)`: fields fixed by `eq` in the index's order, then bounds on the one field behind them. A type a
 * step: what may come next is all that can be written.
 */
import type {FieldTypeFromFieldPath, GenericDocument, GenericIndexFields} from './data-model.ts';

/** A finished range. Made by the builder only. */
export abstract class IndexRange {
  declare protected readonly _isIndexRange: never;
}

/** At a position of the index. Past its last field nothing can be added. */
export type IndexRangeBuilder<
  Document extends GenericDocument,
  Fields extends GenericIndexFields,
> = string[] extends Fields
  ? OpenRange<Document, Fields>
  : Fields extends [infer Field extends string, ...infer Rest extends string[]]
    ? Position<Document, Field, Rest>
    : IndexRange;

/** An index whose fields are not known. */
export type OpenRange<Document extends GenericDocument, Fields extends GenericIndexFields> = BoundsLeft<
  Document,
  string,
  Bound
> & {
  eq(fieldName: string, value: FieldTypeFromFieldPath<Document, string>): IndexRangeBuilder<Document, Fields>;
};

type Position<Document extends GenericDocument, Field extends string, Rest extends string[]> = BoundsLeft<
  Document,
  Field,
  Bound
> & {
  /** Documents whose field is exactly this value. `undefined`: those that do not have it. */
  eq(fieldName: Field, value: FieldTypeFromFieldPath<Document, Field>): IndexRangeBuilder<Document, Rest>;
};

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
