import type {AnyFunctionReference, EmptyObject, FunctionArgs} from '../server/function-reference.ts';

/** A call's arguments, then its options. The arguments can be omitted when the function requires none. */
export type ArgsAndOptions<Reference extends AnyFunctionReference, Options> =
  FunctionArgs<Reference> extends EmptyObject
    ? [args?: EmptyObject, options?: Options]
    : [args: FunctionArgs<Reference>, options?: Options];
