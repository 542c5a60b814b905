/**
 * Requests to the service and its responses, typed by the app's tables. A test checks these types against the wire
 * types of the service. Those are not used directly because every app would have to bundle the library they are written
 * in.
 */
import type {Any} from '../values/any.ts';

/** Tables of an app that has not declared them. */
export type AnyTables = Record<string, Record<string, Any>>;

export type TableName<Tables> = keyof Tables & string;

/** A document as read: its own fields and the system fields. Times are epoch milliseconds, possibly with fractions. */
export type Doc<Fields> = Fields & {
  readonly _id: string;
  readonly _creationTime: number;
  readonly _updateTime: number;
};

/** A dotted path into objects, which is not checked against the document's type. */
type Path = `${string}.${string}`;
type Name<Fields> = keyof Doc<Fields> & string;

type TestOf<Field extends string, Value> =
  | {readonly field: Field; readonly op: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte'; readonly value: Value | null}
  | {readonly field: Field; readonly op: 'in' | 'not_in'; readonly value: readonly (Value | null)[]}
  | {readonly field: Field; readonly op: 'prefix'; readonly value: string}
  | {readonly field: Field; readonly op: 'contains'; readonly value: unknown}
  | {readonly field: Field; readonly op: 'exists'; readonly value: boolean};

/** One filter. `or` holds when one of its members does; a list as a member holds when all of its filters do. */
export type Filter<Fields> =
  | {readonly [Field in Name<Fields>]-?: TestOf<Field, Exclude<Doc<Fields>[Field], undefined>>}[Name<Fields>]
  | TestOf<Path, unknown>
  | {readonly or: readonly (Filter<Fields> | readonly Filter<Fields>[])[]};

export type Order<Fields> = {readonly field: Name<Fields> | Path; readonly direction: 'asc' | 'desc'};

/** A query of one table. Defaults: no filter, order of creation, no limit. */
export type Query<Fields> = {
  /** All of them must hold. */
  readonly filters?: readonly Filter<Fields>[];
  readonly order?: Order<Fields> | readonly Order<Fields>[];
  readonly limit?: number;
  /** Fields to return in addition to `_id`. Default: all. */
  readonly select?: readonly (Name<Fields> | Path)[];
};

/** One of several queries that are sent together. */
export type BatchQuery<Tables> = {
  readonly [Table in TableName<Tables>]: Query<Tables[Table]> & {
    readonly table: Table;
    /** Return the number of matching documents instead of the documents. Default: false. */
    readonly count?: boolean;
  };
}[TableName<Tables>];

/** The name of a unique index that identifies a document; `fields` must have a value for each of its fields. */
export type UniqueIndex = {readonly by: string};

/** The part of a query that a count uses. */
export type Counted<Fields> = Pick<Query<Fields>, 'filters' | 'limit'>;

type Head<Selected> = Selected extends `${infer First}.${string}` ? First : never;

/**
 * A document as the query returns it. For a path, the member has the name of its first step and contains what was
 * selected.
 */
export type Shown<Fields, Requested> = Requested extends {readonly select: readonly (infer Selected)[]}
  ? Pick<Doc<Fields>, '_id' | Extract<Selected, keyof Doc<Fields>>> & {readonly [Name in Head<Selected>]?: unknown}
  : Doc<Fields>;

/** The result of one of several queries. */
export type BatchResult<Tables, Requested> = Requested extends {readonly count: true}
  ? number
  : Requested extends {readonly table: infer Table extends TableName<Tables>}
    ? Shown<Tables[Table], Requested>[]
    : never;

type Numbers<Fields> = {readonly [Field in keyof Fields]?: Fields[Field] extends number | undefined ? number : never};
type Elements<Fields> = {
  readonly [Field in keyof Fields]?: NonNullable<Fields[Field]> extends readonly (infer Element)[]
    ? readonly Element[]
    : never;
};

/** Changes to fields of a document. A field can appear in only one of them. */
export type Changes<Fields> = {
  /** Fields to set. */
  readonly patch?: Partial<Fields>;
  /** Fields to remove. */
  readonly unset?: readonly (keyof Fields & string)[];
  /** Amounts to add to numbers; a missing field counts as 0. */
  readonly increment?: Numbers<Fields>;
  /** Values to append to arrays; a missing field counts as []. */
  readonly append?: Elements<Fields>;
  /** Values to remove from arrays, with all equal elements. */
  readonly remove?: Elements<Fields>;
};

/**
 * The outcome of a write. `version` is null if the first response was lost, because a repeated response does not
 * contain it.
 */
export type Written = {readonly id: string; readonly version: string | null};
export type Put = Written & {readonly created: boolean};

/**
 * A record of the journal: one committed write of the tenant. Ignore events of unknown types, because new ones can be
 * added.
 */
export type JournalRecord<Tables = AnyTables> = {
  readonly version: 1;
  readonly sequence: number;
  /** Epoch milliseconds, never less than in the previous record. */
  readonly timestamp: number;
  readonly events: readonly {readonly type: string; readonly [member: string]: Any}[];
  /** In order. `document` is the whole document after the write, or null if it was deleted. */
  readonly writes: readonly JournalWrite<Tables>[];
  readonly scheduled_execution_id: string | null;
  /** What caused the write. Absent: a version before causes were noted wrote it. Other members can be added. */
  readonly cause?: JournalCause;
  readonly integrity_sha256: string;
};
export type JournalCause = {
  readonly kind: 'api' | 'function' | 'job' | 'cron' | 'task' | 'import' | 'system';
  readonly request_id?: string;
  readonly key_id?: string;
  readonly session_id?: string;
  readonly function?: string;
  readonly job_id?: string;
  readonly cron?: string;
  readonly task_id?: string;
  readonly import_id?: string;
};
export type JournalWrite<Tables = AnyTables> = {
  readonly [Table in TableName<Tables>]: {
    readonly table: Table;
    readonly id: string;
    readonly op: 'insert' | 'update' | 'delete';
    readonly document: Doc<Tables[Table]> | null;
  };
}[TableName<Tables>];

/** Options of one call. */
export type CallOptions = {
  readonly signal?: AbortSignal;
  /** Timeout of one attempt, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
};
export type ConditionOptions = CallOptions & {
  /** Write only if the document has this version (`versionOf`); otherwise `op.precondition_failed`. */
  readonly ifVersion?: string;
};
