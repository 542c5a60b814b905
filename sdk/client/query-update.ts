/**
 * Computes a query's new state from an update of the server. Nothing is modified here, because a transition is applied
 * completely or, if one of its updates cannot be applied, not at all.
 */
import type {QueryUpdate, TextDelta} from '../../shared/protocol/function-socket/server-message.ts';
import {textDigest} from '../../shared/values/text-digest.ts';
import {decodeParsed, decodeValue, encodeDocument} from '../../shared/values/wire-value.ts';
import type {Value} from '../values/value.ts';
import {keepReferences} from './keep-references.ts';
import {functionError} from './logger.ts';
import {applyTextDelta} from './text-delta.ts';
import type {Query, QueryResult} from './watched-query.ts';

export type QueryState = Pick<Query, 'journal' | 'result' | 'shown'>;

/**
 * @param hasFloats whether the update can contain numbers that JSON cannot represent
 * @returns null when the update is based on a result that the client does not have
 */
export function updatedState(query: Query, update: QueryUpdate, hasFloats: boolean): QueryState | null {
  if ('error' in update) return {journal: query.journal, result: sameError(query, update.error), shown: undefined};
  const journal = update.journal ?? query.journal;
  const {digest} = update;
  if ('unchanged' in update) {
    return query.shown?.digest === digest ? {journal, result: query.result, shown: query.shown} : null;
  }
  if ('delta' in update) {
    const text = changedText(query, update.delta);
    if (text === null || textDigest(text) !== digest) return null;
    return {journal, result: sameResult(query, decodeValue(text)), shown: {digest, text}};
  }
  // A kind of change that is newer than this client.
  if (!('value' in update)) return null;
  const value = (hasFloats ? decodeParsed(update.value) : update.value) as Value;
  return {journal, result: sameResult(query, value), shown: {digest, text: null}};
}

function changedText({result, shown}: Query, delta: TextDelta): string | null {
  if (shown === undefined || !result?.ok) return null;
  return applyTextDelta(shown.text ?? encodeDocument(result.value), delta);
}

/** Returns the previous object if it has the same value. */
function sameResult({result}: Query, value: Value): QueryResult {
  if (!result?.ok) return {ok: true, value};
  const kept = keepReferences(result.value, value);
  return Object.is(kept, result.value) ? result : {ok: true, value: kept};
}

function sameError({result, call}: Query, message: string): QueryResult {
  const error = functionError('query', call.path, message);
  return result?.ok === false && result.error.message === error.message ? result : {ok: false, error};
}
