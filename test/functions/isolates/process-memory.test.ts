/** What a worker does as its memory runs short. */
import {afterEach, expect, test, vi} from 'vitest';
import {PROCESS_BYTES_MAX} from '../../../shared/limits.ts';
import {
  FUNCTIONS_PROCESS_BYTES_END,
  FUNCTIONS_PROCESS_BYTES_MAX,
  FUNCTIONS_PROCESS_BYTES_SHORT,
  FUNCTIONS_SHORT_IDLE_MS,
} from '../../../worker/runtime/limits.ts';
import {ProcessMemory} from '../../../worker/runtime/process-memory.ts';

let memory: ProcessMemory;
afterEach(() => memory.close());

function lookAt(bytes: number) {
  const holder = {underWay: 0, releaseIdle: vi.fn(), endLargest: vi.fn()};
  memory = new ProcessMemory(() => bytes);
  memory.add(holder);
  let refused: unknown = null;
  try {
    memory.check();
  } catch (caught) {
    refused = caught;
  }
  return {
    /** Unused for how long. */
    released: holder.releaseIdle.mock.calls.map(([unusedMs]) => unusedMs),
    ended: holder.endLargest.mock.calls.length,
    refused: refused === null ? null : (refused as {code: string}).code,
  };
}

test('idle isolates go first, then nothing starts, then actions are ended, and all of it before the process is', () => {
  const overloaded = 'session.overloaded';
  expect(lookAt(FUNCTIONS_PROCESS_BYTES_SHORT)).toEqual({released: [], ended: 0, refused: null});
  expect(lookAt(FUNCTIONS_PROCESS_BYTES_SHORT + 1)).toEqual({
    released: [FUNCTIONS_SHORT_IDLE_MS],
    ended: 0,
    refused: null,
  });
  expect(lookAt(FUNCTIONS_PROCESS_BYTES_MAX + 1)).toEqual({released: [0], ended: 0, refused: overloaded});
  expect(lookAt(FUNCTIONS_PROCESS_BYTES_END + 1)).toEqual({released: [0], ended: 1, refused: overloaded});
  expect(FUNCTIONS_PROCESS_BYTES_END).toBeLessThan(PROCESS_BYTES_MAX);
});

test('it is looked at while calls are under way, and as long as memory is short afterwards', () => {
  vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
  try {
    let bytes = 0;
    let looks = 0;
    const holder = {underWay: 1, releaseIdle: vi.fn()};
    memory = new ProcessMemory(() => {
      looks++;
      return bytes;
    });
    memory.add(holder);
    memory.check();
    bytes = FUNCTIONS_PROCESS_BYTES_SHORT + 1;
    vi.advanceTimersToNextTimer();
    expect(holder.releaseIdle).toHaveBeenCalledTimes(1);
    holder.underWay = 0;
    vi.advanceTimersToNextTimer();
    expect(holder.releaseIdle).toHaveBeenCalledTimes(2);
    bytes = 0;
    vi.advanceTimersToNextTimer();
    expect(vi.getTimerCount()).toBe(0);
    expect(looks).toBe(4);
  } finally {
    vi.useRealTimers();
  }
});
