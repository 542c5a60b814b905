/**
 * What changed between two texts, as far as one cut says it: what both begin and end with stays. It is found in one pass, so it may be
 * looked for whenever a result changes.
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

/** What comes of it. */
export function applyDelta(before: string, delta: TextDelta): string {
  let after = '';
  let at = 0;
  for (const [start, removed, inserted] of delta) {
    after += before.slice(at, start) + inserted;
    at = start + removed;
  }
  return after + before.slice(at);
}
