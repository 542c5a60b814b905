/** Values and ids, as an app's code sees them. */

/** A document's id. At run time it is a string; the type contains the table name. */
export type GenericId<TableName extends string> = string & {__tableName: TableName};

/** The type of arguments, results and documents. A field that is `undefined` counts as absent. */
export type Value = null | boolean | number | string | Value[] | {[key: string]: Value | undefined};

/** Flattens an intersection, so that editors show one object type. */
export type Expand<T> =
  T extends Record<string, unknown> ? {[Key in keyof T]: T[Key]} : T extends object ? {[Key in keyof T]: T[Key]} : T;

/** `Omit` that preserves unions, and named keys in types with an index signature. */
export type BetterOmit<T, Keys extends PropertyKey> = {
  [Key in keyof T as Key extends Keys ? never : Key]: T[Key];
};
