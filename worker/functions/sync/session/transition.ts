/**
 * Serialises transitions. Results are inserted as text without a parse; sockets with equal transitions get the same
 * bytes.
 */

import type {Because, StateVersion} from '../../../../shared/protocol/function-socket/server-message.ts';
import {DELTA_CHARS_MAX, DELTA_CHARS_MIN, TRANSITION_CHARS_MAX, TRANSITION_CHUNK_CHARS} from '../../limits.ts';
import {type Answer, isStable, type Result} from '../queries/answer.ts';
import {textDelta} from './text-delta.ts';

/** One query's part of a transition. */
export type Update = {
  queryId: number;
  answer: Answer;
  /** The result that the client has; null: none. */
  before: Result | null;
  /** The client already has this result, from another socket. */
  isKnown: boolean;
  /** Null: not sent to clients. */
  because: Because | null;
  hasLines: boolean;
};

export type Move = {from: StateVersion; to: StateVersion; updates: readonly Update[]};

/** Equal for moves with the same text. */
export function moveKey({from, to, updates}: Move): string {
  let key = `${from.query_set} ${from.identity} ${from.ts} ${to.query_set} ${to.identity} ${to.ts}`;
  for (const {queryId, answer, before, isKnown, because, hasLines} of updates) {
    const why = because === null ? '' : because.cause;
    key += `;${queryId} ${answer.n} ${before?.n ?? ''} ${isKnown ? 1 : 0} ${why} ${hasLines ? 1 : 0}`;
  }
  return key;
}

export function transitionText({from, to, updates}: Move): string {
  const changes = updates.map(updateText).join(',');
  return `{"type":"transition","from":${versionText(from)},"to":${versionText(to)},"changes":[${changes}]}`;
}

function versionText({query_set, identity, ts}: StateVersion): string {
  return `{"query_set":${query_set},"identity":${identity},"ts":${ts}}`;
}

/** Clients send journals back: one longer than they can send is of no use to them. */
const JOURNAL_CHARS_MAX = 16_384;

/** Cache of the last requested delta to a result, as JSON; null text: it is better sent whole. */
const deltas = new WeakMap<Result, {before: Result; text: string | null}>();

/** @returns JSON; null: the result is to be sent whole */
function deltaText(before: Result | null, after: Result & {ok: true}): string | null {
  if (before?.ok !== true || !isBetween(before.text) || !isBetween(after.text)) return null;
  const known = deltas.get(after);
  if (known?.before === before) return known.text;
  const delta = JSON.stringify(textDelta(before.text, after.text));
  const text = delta.length < after.text.length / 2 && isStable(before) ? delta : null;
  deltas.set(after, {before, text});
  return text;
}

function isBetween({length}: string): boolean {
  return length >= DELTA_CHARS_MIN && length <= DELTA_CHARS_MAX;
}

function updateText({queryId, answer, before, isKnown, because, hasLines}: Update): string {
  const {result, journal, lines} = answer;
  let facts = `{"query_id":${queryId}`;
  if (hasLines && lines.length > 0) facts += `,"log_lines":${JSON.stringify(lines)}`;
  if (because !== null) facts += `,"because":${JSON.stringify(because)}`;
  if (!result.ok) return `${facts},"error":${JSON.stringify(result.shown)}}`;
  if (journal !== null && journal.length <= JOURNAL_CHARS_MAX) facts += `,"journal":${JSON.stringify(journal)}`;
  facts += `,"digest":"${result.digest}"`;
  if (isKnown) return `${facts},"unchanged":true}`;
  const delta = deltaText(before, result);
  return delta === null ? `${facts},"value":${result.text}}` : `${facts},"delta":${delta}}`;
}

/** The messages that carry it: the transition itself, or its chunks in order. */
export function messagesOf(transition: string): string[] {
  if (transition.length <= TRANSITION_CHARS_MAX) return [transition];
  const count = Math.ceil(transition.length / TRANSITION_CHUNK_CHARS);
  const messages: string[] = [];
  for (let index = 0; index < count; index++) {
    const text = transition.slice(index * TRANSITION_CHUNK_CHARS, (index + 1) * TRANSITION_CHUNK_CHARS);
    messages.push(`{"type":"transition_part","index":${index},"count":${count},"text":${JSON.stringify(text)}}`);
  }
  return messages;
}
