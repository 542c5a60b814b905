/**
 * What goes to the service and comes from it, typed by the app's tables. A test holds these types to the wire types of the service;
 * those themselves would bring the library they are written in to every app.
 */
import type {Any} from '../values/any.ts';

/** Tables of an app that has not declared them. */
export type AnyTables = Record<string, Record<string, Any>>;

export type TableName<Tables> = keyof Tables & string;

/** A document as it is read: its own fields, and those that the service keeps. Times are epoch milliseconds, fractions possible. */
export type Doc<Fields> = Fields & {
  readonly _id: string;
  readonly _creationTime: number;
  readonly _updateTime: number;
};

/** Steps into objects, which are not looked up in the document's type. */
type Path = `${string}.${string}`;
type Name<Fields> = keyof Doc<Fields> & string;

type TestOf<Field extends string, Value> =
  | {readonly field: Field; readonly op: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte'; readonly value: Value | null}
  | {readonly field: Field; readonly op: 'in' | 'not_in'; readonly value: readonly (Value | null)[]}
  | {readonly field: Field; readonly op: 'prefix'; readonly value: string}
  | {readonly field: Field; readonly op: 'contains'; readonly value: unknown}
  | {readonly field: Field; readonly op: 'exists'; readonly value: boolean};

/** One filter; `or` holds when one of them does, and of a list in it when all in that do. */
export type Filter<Fields> =
  | {readonly [Field in Name<Fields>]-?: TestOf<Field, Exclude<Doc<Fields>[Field], undefined>>}[Name<Fields>]
  | TestOf<Path, unknown>
  | {readonly or: readonly (Filter<Fields> | readonly Filter<Fields>[])[]};

export type Order<Fields> = {readonly field: Name<Fields> | Path; readonly direction: 'asc' | 'desc'};

/** A query of one table. Left out: no filter, the order of creation, all of them. */
export type Query<Fields> = {
  /** All must hold. */
  readonly filters?: readonly Filter<Fields>[];
  readonly order?: Order<Fields> | readonly Order<Fields>[];
  readonly limit?: number;
  /** What is shown of each document, beside `_id`; all of it unless said. */
  readonly select?: readonly (Name<Fields> | Path)[];
};

/** One of several queries that are answered together. */
export type BatchQuery<Tables> = {
  readonly [Table in TableName<Tables>]: Query<Tables[Table]> & {
    readonly table: Table;
    /** How many match, instead of the documents. */
    readonly count?: boolean;
  };
}[TableName<Tables>];

/** A unique index, by which a document is found: `fields` has a value for each of its fields. */
export type UniqueIndex = {readonly by: string};

/** What is counted. */
export type Counted<Fields> = Pick<Query<Fields>, 'filters' | 'limit'>;

type Head<Selected> = Selected extends `${infer First}.${string}` ? First : never;

/** A document as the query shows it. Of a path its first step is there, and in it what was selected. */
export type Shown<Fields, Asked> = Asked extends {readonly select: readonly (infer Selected)[]}
  ? Pick<Doc<Fields>, '_id' | Extract<Selected, keyof Doc<Fields>>> & {readonly [Name in Head<Selected>]?: unknown}
  : Doc<Fields>;

/** What one of several queries is answered with. */
export type BatchResult<Tables, Asked> = Asked extends {readonly count: true}
  ? number
  : Asked extends {readonly table: infer Table extends TableName<Tables>}
    ? Shown<Tables[Table], Asked>[]
    : never;

type Numbers<Fields> = {readonly [Field in keyof Fields]?: Fields[Field] extends number | undefined ? number : never};
type Elements<Fields> = {
  readonly [Field in keyof Fields]?: NonNullable<Fields[Field]> extends readonly (infer Element)[]
    ? readonly Element[]
    : never;
};

/** What a patch does to fields of a document; none of them twice to one field. */
export type Changes<Fields> = {
  /** Fields to set. */
  readonly patch?: Partial<Fields>;
  /** Fields to remove. */
  readonly unset?: readonly (keyof Fields & string)[];
  /** What to add to numbers; a missing one counts as 0. */
  readonly increment?: Numbers<Fields>;
  /** Values to put at the end of arrays; a missing one counts as []. */
  readonly append?: Elements<Fields>;
  /** Values of which all equal elements leave an array. */
  readonly remove?: Elements<Fields>;
};

/** A write that was made. `version` is null if its first answer was lost: an answer that is repeated does not say it. */
export type Written = {readonly id: string; readonly version: string | null};
export type Put = Written & {readonly created: boolean};

/** A record of the journal: one committed write of the tenant. New types of events may come; pass over those you do not know. */
export type JournalRecord<Tables = AnyTables> = {
  readonly version: 1;
  readonly sequence: number;
  /** Epoch milliseconds, never less than that of the record before. */
  readonly timestamp: number;
  readonly events: readonly {readonly type: string; readonly [member: string]: Any}[];
  /** In order: whole documents as they are afterwards, null of one that was deleted. */
  readonly writes: readonly JournalWrite<Tables>[];
  readonly scheduled_execution_id: string | null;
  readonly integrity_sha256: string;
};
export type JournalWrite<Tables = AnyTables> = {
  readonly [Table in TableName<Tables>]: {
    readonly table: Table;
    readonly id: string;
    readonly op: 'insert' | 'update' | 'delete';
    readonly document: Doc<Tables[Table]> | null;
  };
}[TableName<Tables>];

/** Of one call. */
export type CallOptions = {
  readonly signal?: AbortSignal;
  /** How long an attempt may take; the client's unless said. */
  readonly timeoutMs?: number;
};
export type ConditionOptions = CallOptions & {
  /** Only if the document is of this version (`versionOf`), else `op.precondition_failed`. */
  readonly ifVersion?: string;
};
