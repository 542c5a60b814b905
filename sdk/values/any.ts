/**
 * The one `any` of the SDK's types. Documents of tables without a schema, references made without code generation and
 * handlers without validators are untyped on purpose: code written for such platforms relies on `any` there, and type
 * parameters that only pass through need a bound that is both above and below every type.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export type Any = any;
