/**
 * The only `any` in the types of the SDK. Three things are untyped on purpose: documents of tables without a schema,
 * references without code generation, and handlers without validators. Code written for similar platforms relies on
 * `any` there. Type parameters that are only passed on also need a bound that is both above and below every type.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export type Any = any;
