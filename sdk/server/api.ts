/**
 * The types of `api` and `internal`, which represent the exports of all modules as a tree of references. Generated code
 * names each module once. Exports that are not functions are omitted.
 */
import type {
  AnyFunctionReference,
  DefaultFunctionArgs,
  FunctionReference,
  FunctionType,
  FunctionVisibility,
} from './function-reference.ts';
import type {RegisteredAction, RegisteredMutation, RegisteredPaginatedQuery, RegisteredQuery} from './registered.ts';

/** @param AllModules by path: `{'messages': typeof messages, 'admin/users': typeof admin_users}` */
export type ApiFromModules<AllModules extends Record<string, object>> = Directory<AllModules, AnyFunctionReference> &
  OfModules<AllModules>;

/**
 * Exists in types only: the modules of an API, so that it can be filtered without resolving modules that are not used.
 */
type OfModules<Modules extends Record<string, object>> = {readonly [MODULES]?: Modules};
declare const MODULES: unique symbol;

/**
 * Modules below one directory: the first part of each path is a member. A module can have the name of a directory.
 *
 * Members depend only on the paths, whether or not the modules contain functions. Otherwise the type of `api.b` would
 * depend on the exports of module `a`, and a function of `a` that calls one of `b` could not have an inferred return
 * type.
 */
type Directory<Modules extends Record<string, object>, Predicate> = {
  [Name in FirstParts<keyof Modules & string>]: (Name extends keyof Modules
    ? Module<Modules[Name], Predicate>
    : unknown) &
    (Below<Modules, Name> extends infer Inner extends Record<string, object>
      ? keyof Inner extends never
        ? unknown
        : Directory<Inner, Predicate>
      : unknown);
};

type FirstParts<Path extends string> = Path extends `${infer First}/${string}` ? First : Path;

type Below<Modules extends Record<string, object>, Name extends string> = {
  [Path in keyof Modules as Path extends `${Name}/${infer Rest}` ? Rest : never]: Modules[Path];
};

/** HTTP actions have no reference, because they are reached through routes. */
type Module<Exports extends object, Predicate> = {
  [Name in keyof Exports as Exports[Name] extends Callable
    ? ReferenceTo<Exports[Name]> extends Predicate
      ? Name
      : never
    : never]: ReferenceTo<Exports[Name]>;
};

type Callable = {isSvcFunction: true; kind: FunctionType};

type ReferenceTo<Export> =
  Export extends RegisteredQuery<infer Visibility, infer Args, infer Returned>
    ? Reference<'query', Visibility, Args, Returned>
    : Export extends RegisteredMutation<infer Visibility, infer Args, infer Returned>
      ? Reference<'mutation', Visibility, Args, Returned>
      : Export extends RegisteredAction<infer Visibility, infer Args, infer Returned>
        ? Reference<'action', Visibility, Args, Returned>
        : Export extends RegisteredPaginatedQuery<infer Visibility, infer Args, infer Returned>
          ? Reference<'paginatedQuery', Visibility, Args, Returned>
          : never;

type Reference<
  Type extends 'query' | 'paginatedQuery' | 'mutation' | 'action',
  Visibility extends FunctionVisibility,
  Args extends DefaultFunctionArgs,
  Returned,
> = FunctionReference<Type, Visibility, Args, ReceivedType<Returned>>;

/** The result that a caller gets: a handler that returns nothing gives null. */
type ReceivedType<Returned> = NullForNothing<Awaited<Returned>>;
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type.
type NullForNothing<T> = T extends undefined | void ? null : T;

/** The references of an API that are assignable to `Predicate`. */
export type FilterApi<Api, Predicate> =
  Api extends OfModules<infer Modules>
    ? [Record<string, object>] extends [Modules]
      ? FilteredMembers<Api, Predicate>
      : Directory<Modules, Predicate> & OfModules<Modules>
    : FilteredMembers<Api, Predicate>;

/** Filters a part of an API, whose modules are not known. Members without a matching reference are omitted. */
type FilteredMembers<Api, Predicate> = {
  [Name in keyof Api as Kept<Api[Name], Predicate> extends true ? Name : never]: Api[Name] extends Predicate
    ? Api[Name]
    : FilteredMembers<Api[Name], Predicate>;
};

type Kept<Member, Predicate> = Member extends Predicate
  ? true
  : Member extends AnyFunctionReference
    ? false
    : keyof FilteredMembers<Member, Predicate> extends never
      ? false
      : true;

/** Returns the same object with a narrower type. */
export function filterApi<Api, Predicate>(api: Api): FilterApi<Api, Predicate> {
  return api as unknown as FilterApi<Api, Predicate>;
}
