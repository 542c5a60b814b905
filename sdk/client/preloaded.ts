/** A query's result that was computed elsewhere, on the server that rendered the page: plain texts, so that any framework can carry it over. */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeValue} from '../../shared/values/wire-value.ts';
import type {FunctionReference, FunctionReturnType} from '../server/function-reference.ts';

export type Preloaded<Query extends FunctionReference<'query'>> = {
  /** In types only. */
  readonly __query?: Query;
  readonly path: string;
  /** Wire text, as `value` is. */
  readonly args: string;
  readonly value: string;
  /** Of the data. Null: the server was too old to say. */
  readonly version: DataVersion | null;
};

/** The result itself, for the server's own use. */
export function preloadedQueryResult<Query extends FunctionReference<'query'>>(
  preloaded: Preloaded<Query>,
): FunctionReturnType<Query> {
  return decodeValue(preloaded.value) as FunctionReturnType<Query>;
}
