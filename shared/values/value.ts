/**
 * The values that a document can hold, which are plain JSON values. `undefined` stands for a missing field, where a
 * field can be missing.
 */
export type Value = null | boolean | number | string | Value[] | {[key: string]: Value};
