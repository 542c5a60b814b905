/**
 * References to functions, such as `api.messages.list`, `makeFunctionReference('messages:list')`, or plain strings. At
 * run time a reference is only a name under a registered symbol, which the platform reads. Its types describe the
 * arguments and the result.
 */
import type {Any} from '../values/any.ts';

const FUNCTION_NAME = Symbol.for('svc.functionName');

export type FunctionType = 'query' | 'paginatedQuery' | 'mutation' | 'action';
export type FunctionVisibility = 'public' | 'internal';
export type DefaultFunctionArgs = Record<string, unknown>;
export type EmptyObject = Record<string, never>;

/** The members exist in types only. */
export type FunctionReference<
  Type extends FunctionType,
  Visibility extends FunctionVisibility = 'public',
  Args extends DefaultFunctionArgs = Any,
  ReturnType = Any,
> = {
  _type: Type;
  _visibility: Visibility;
  _args: Args;
  _returnType: ReturnType;
};

export type AnyFunctionReference = FunctionReference<Any, Any>;
export type FunctionArgs<Reference extends AnyFunctionReference> = Reference['_args'];
export type FunctionReturnType<Reference extends AnyFunctionReference> = Reference['_returnType'];
/** The arguments after a reference in a call. They can be omitted when the function requires none. */
export type OptionalRestArgs<Reference extends AnyFunctionReference> = Reference['_args'] extends EmptyObject
  ? [args?: EmptyObject]
  : [args: Reference['_args']];

/** @returns `a/b:f`, or `a/b` for a default export @throws Error when it is not a reference */
export function getFunctionName(reference: AnyFunctionReference | string): string {
  if (typeof reference === 'string') return reference;
  const name = (reference as {[FUNCTION_NAME]?: unknown} | null | undefined)?.[FUNCTION_NAME];
  if (typeof name === 'string') return name;
  throw notAReference(reference);
}

function notAReference(value: unknown): Error {
  const registered = typeof value === 'function' && (value as {isSvcFunction?: unknown}).isSvcFunction === true;
  const shown = registered ? 'a registered function' : typeof value === 'object' ? 'the object' : `${String(value)}`;
  return new Error(`${shown} is not a functionReference: expected a function reference like "api.file.func"`);
}

/** Creates a reference from a name such as `a/b:f`, for code without generated references. */
export function makeFunctionReference<
  Type extends FunctionType,
  Args extends DefaultFunctionArgs = Any,
  ReturnType = Any,
>(name: string): FunctionReference<Type, 'public', Args, ReturnType> {
  return {[FUNCTION_NAME]: name} as unknown as FunctionReference<Type, 'public', Args, ReturnType>;
}

/** The type of `anyApi`, which accepts any chain of names. A wrong name fails when it is called. */
export type AnyApi = Record<string, Record<string, AnyModule>>;
export type AnyModule = AnyFunctionReference & {[name: string]: AnyModule};

export const anyApi: AnyApi = /* @__PURE__ */ referenceAt([]) as AnyApi;

function referenceAt(parts: readonly string[]): object {
  return new Proxy(
    {},
    {
      get(_target, key) {
        if (typeof key === 'string') return referenceAt([...parts, key]);
        if (key === FUNCTION_NAME) return nameOf(parts);
        return key === Symbol.toStringTag ? 'FunctionReference' : undefined;
      },
    },
  );
}

function nameOf(parts: readonly string[]): string {
  if (parts.length < 2) {
    const found = ['api', ...parts].join('.');
    throw new Error(`API path is expected to be of the form api.moduleName.functionName. Found: ${found}`);
  }
  const module = parts.slice(0, -1).join('/');
  const name = parts.at(-1);
  return name === 'default' ? module : `${module}:${name}`;
}
