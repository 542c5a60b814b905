/** Values and ids as the types of an app's code see them. */

/** A document's id: a string at run time; the type knows its table. */
export type GenericId<TableName extends string> = string & {__tableName: TableName};

/** What arguments, results and documents may hold. `undefined` fields are as good as absent. */
export type Value = null | boolean | number | string | Value[] | {[key: string]: Value | undefined};

/** Flattens an intersection, so that editors show one object type. */
export type Expand<T> =
  T extends Record<string, unknown> ? {[Key in keyof T]: T[Key]} : T extends object ? {[Key in keyof T]: T[Key]} : T;

/** `Omit` that keeps unions apart and named keys beside an index signature. */
export type BetterOmit<T, Keys extends PropertyKey> = {
  [Key in keyof T as Key extends Keys ? never : Key]: T[Key];
};
