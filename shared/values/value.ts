/** What a document may hold: plain JSON values. `undefined` stands for a missing field where one can be missing. */
export type Value = null | boolean | number | string | Value[] | {[key: string]: Value};
