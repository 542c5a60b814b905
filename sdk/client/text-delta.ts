/**
 * Applies a text delta, which describes a text as another one with parts cut and inserted. The server creates deltas;
 * clients apply them.
 */
import type {TextDelta} from '../../shared/protocol/function-socket/server-message.ts';

/** @returns null when the delta does not fit this text */
export function applyTextDelta(text: string, delta: TextDelta): string | null {
  let result = '';
  let copied = 0;
  for (const [at, removed, inserted] of delta) {
    if (!(at >= copied && removed >= 0 && at + removed <= text.length)) return null;
    result += text.slice(copied, at) + inserted;
    copied = at + removed;
  }
  return result + text.slice(copied);
}
