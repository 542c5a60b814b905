/**
 * The difference between two texts as one replaced range between a common prefix and suffix. Computed in one pass, so
 * it is cheap enough to try for every changed result.
 */
import type {TextDelta} from '../../../../shared/protocol/function-socket/server-message.ts';

export function textDelta(before: string, after: string): TextDelta {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  ) {
    end++;
  }
  if (start === before.length && start === after.length) return [];
  return [[start, before.length - start - end, after.slice(start, after.length - end)]];
}
