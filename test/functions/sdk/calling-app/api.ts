/** As generated code has it, of modules that call each other. */
import {type ApiFromModules, anyApi, type FilterApi, type FunctionReference} from '../../../../sdk/server/index.ts';
import type {Any} from '../../../../sdk/values/any.ts';
import type * as callers from './callers.ts';
import type * as helpers from './helpers.ts';
import type * as numbers from './numbers.ts';
import type * as own from './own.ts';

declare const fullApi: ApiFromModules<{
  callers: typeof callers;
  'deep/numbers': typeof numbers;
  helpers: typeof helpers;
  numbers: typeof numbers;
  own: typeof own;
}>;

export const api = anyApi as unknown as FilterApi<typeof fullApi, FunctionReference<Any, 'public'>>;
export const internal = anyApi as unknown as FilterApi<typeof fullApi, FunctionReference<Any, 'internal'>>;
