/**
 * A query result computed by the server that rendered the page. It is plain text, so that any framework can transfer
 * it.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {decodeValue} from '../../shared/values/wire-value.ts';
import type {FunctionReference, FunctionReturnType} from '../server/function-reference.ts';

export type Preloaded<Query extends FunctionReference<'query'>> = {
  /** Exists in types only. */
  readonly __query?: Query;
  readonly path: string;
  /** Wire text, like `value`. */
  readonly args: string;
  readonly value: string;
  /** The version of the data. Null: the server was too old to report it. */
  readonly version: DataVersion | null;
};

/** Decodes the result, for use on the server. */
export function preloadedQueryResult<Query extends FunctionReference<'query'>>(
  preloaded: Preloaded<Query>,
): FunctionReturnType<Query> {
  return decodeValue(preloaded.value) as FunctionReturnType<Query>;
}
