/** When a query is handed to a scan thread, with the clocks in the test's hand. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {SCAN_INLINE_CHARS, SCAN_INLINE_CLOCK_MS, SCAN_INLINE_DOCUMENTS, SCAN_INLINE_MS} from '../../engine/limits.ts';
import {HAND_OVER, InlineBudget, InlineReadBudget} from '../../engine/reads/read-budget.ts';

const TABLE = {number: 1, lowDoc: 1, highDoc: 9, indexes: []};

let clockMs = 0;
let processorMs = 0;
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
  vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({user: processorMs * 1_000, system: 0}));
});
afterEach(() => void vi.restoreAllMocks());

function readBudget(documents = 0, budget = new InlineBudget()): InlineReadBudget {
  return new InlineReadBudget(() => documents, budget);
}

/** Whether the pace gives the query up. */
function isHandedOver(run: () => void): boolean {
  try {
    run();
    return false;
  } catch (caught) {
    expect(caught).toBe(HAND_OVER);
    return true;
  }
}

describe('a query is handed over', () => {
  test('before it begins when the table is known to be large', () => {
    expect(isHandedOver(() => readBudget(SCAN_INLINE_DOCUMENTS).willReadAll(TABLE))).toBe(false);
    expect(isHandedOver(() => readBudget(SCAN_INLINE_DOCUMENTS + 1).willReadAll(TABLE))).toBe(true);
  });

  test('when it has read so many documents, or so much text', () => {
    const many = readBudget();
    expect(isHandedOver(() => many.hasRead(SCAN_INLINE_DOCUMENTS, 0))).toBe(false);
    expect(isHandedOver(() => many.hasRead(1, 0))).toBe(true);
    const long = readBudget();
    expect(isHandedOver(() => long.hasRead(1, SCAN_INLINE_CHARS))).toBe(false);
    expect(isHandedOver(() => long.hasRead(0, 1))).toBe(true);
  });

  test('when it has used its processor time, and not when it has only waited for a processor', () => {
    const waits = readBudget();
    clockMs += SCAN_INLINE_MS * 2;
    processorMs += SCAN_INLINE_MS / 2;
    expect(isHandedOver(() => waits.hasRead(1, 1))).toBe(false);
    clockMs += SCAN_INLINE_MS / 2;
    processorMs += SCAN_INLINE_MS / 2;
    expect(isHandedOver(() => waits.hasRead(1, 1))).toBe(true);
  });

  test('when it waits too long all the same', () => {
    const waits = readBudget();
    clockMs += SCAN_INLINE_CLOCK_MS - 1;
    expect(isHandedOver(() => waits.hasRead(1, 1))).toBe(false);
    clockMs += SCAN_INLINE_MS;
    expect(isHandedOver(() => waits.hasRead(1, 1))).toBe(true);
  });

  test('with those that share its budget', () => {
    const budget = new InlineBudget();
    clockMs += SCAN_INLINE_MS;
    processorMs += SCAN_INLINE_MS;
    expect(isHandedOver(() => readBudget(0, budget).hasRead(1, 1))).toBe(true);
    expect(isHandedOver(() => readBudget(0, budget).hasRead(1, 1))).toBe(true);
    expect(isHandedOver(() => readBudget().hasRead(1, 1))).toBe(false);
  });
});
