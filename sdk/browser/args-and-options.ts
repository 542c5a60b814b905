import type {AnyFunctionReference, EmptyObject, FunctionArgs} from '../server/function-reference.ts';

/** Arguments and then options of a call: arguments may be left out where none are needed. */
export type ArgsAndOptions<Reference extends AnyFunctionReference, Options> =
  FunctionArgs<Reference> extends EmptyObject
    ? [args?: EmptyObject, options?: Options]
    : [args: FunctionArgs<Reference>, options?: Options];
