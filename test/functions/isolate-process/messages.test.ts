/** What crosses between a worker and the process of its isolates, and what the worker does not take from there. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {FUNCTION_RESULT_BYTES_MAX} from '../../../worker/runtime/guest/limits.ts';
import {checkedMessage} from '../../../worker/runtime/isolate-process/checked-message.ts';
import {ISOLATE_FRAME_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {FrameReceiver, FrameSender} from '../../../worker/runtime/process/frames.ts';

const RUN = {
  outcome: {ok: true},
  lines: ['[LOG] a'],
  identityUsed: false,
  isMomentary: true,
  readSet: {intervals: [{table: 1, index: -1, lower: 'a', upper: 'b'}], absentTables: ['notes']},
  endCursor: null,
  starved: null,
  sequence: 7,
};
const RAN = {type: 'ran', id: 1, at: 0, run: RUN};

test('frames arrive as they were said, in whatever pieces', async () => {
  const message = fc.tuple(fc.string({unit: 'binary'}), fc.oneof(fc.string({unit: 'grapheme'}), fc.uint8Array()));
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, {minLength: 1, maxLength: 8}),
      fc.integer({min: 1, max: 40}),
      async (said, size) => {
        const written: Buffer[] = [];
        const sender = new FrameSender(bytes => written.push(Buffer.from(bytes)));
        for (const [text, tail] of said) sender.send({text}, tail);
        await new Promise(resolve => setImmediate(resolve));
        const heard: [unknown, Buffer][] = [];
        const receiver = new FrameReceiver((head, tail) => heard.push([head.text, Buffer.from(tail)]));
        const bytes = Buffer.concat(written);
        for (let at = 0; at < bytes.length; at += size) expect(receiver.push(bytes.subarray(at, at + size))).toBe(true);
        expect(heard).toEqual(said.map(([text, tail]) => [text, Buffer.from(tail as string)]));
      },
    ),
  );
});

test('a frame that is larger than a chunk arrives whole', async () => {
  const written: Buffer[] = [];
  const sender = new FrameSender(bytes => written.push(Buffer.from(bytes)));
  const text = 'é'.repeat(200_000);
  sender.send({n: 1}, 'small');
  sender.send({n: 2}, text);
  sender.send({n: 3}, 'last');
  await new Promise(resolve => setImmediate(resolve));
  const heard: [unknown, string][] = [];
  new FrameReceiver((head, tail) => heard.push([head.n, tail.toString()])).push(Buffer.concat(written));
  expect(heard).toEqual([
    [1, 'small'],
    [2, text],
    [3, 'last'],
  ]);
});

describe('bytes that can be no frame are refused', () => {
  const prefix = (length: number, head: number) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32LE(length, 0);
    bytes.writeUInt32LE(head, 4);
    return bytes;
  };
  test.each([
    ['one that is too long', prefix(ISOLATE_FRAME_BYTES_MAX + 1, 2)],
    ['a head that is longer than its frame', prefix(4, 5)],
    ['a head that is no JSON', prefix(8, 8)],
  ])('%s', (_title, bytes) => {
    expect(new FrameReceiver(() => undefined).push(bytes)).toBe(false);
  });
});

describe('what the process says', () => {
  test.each([
    ['that it is ready', {type: 'ready'}],
    ['what came of a query', RAN],
    ['… that failed', {...RAN, run: {...RUN, outcome: {ok: false, error: {name: 'Error', message: 'x', stack: null}}}}],
    ['… that was starved', {...RAN, run: {...RUN, starved: 'over', had: {cpuMs: 600, wallMs: 4_000}}}],
    ['a refusal', {type: 'refused', id: 1, error: {code: 'session.overloaded', message: 'x'}, reason: null}],
    ['a call', {type: 'call', id: 1, call: 2, operation: 'runQuery', parameters: null}],
  ])('is taken: %s', (_title, message) => {
    expect(checkedMessage(message, 0)).toBe(message);
  });

  test.each([
    ['of no type', {}],
    ['of a type that there is not', {type: 'exec', id: 1}],
    ['of a call without a number', {...RAN, id: '1'}],
    ['a negative number', {...RAN, at: -1}],
    ['no run', {...RAN, run: null}],
    ['an outcome without its error', {...RAN, run: {...RUN, outcome: {ok: false}}}],
    ['a line that is none', {...RAN, run: {...RUN, lines: [1]}}],
    ['more lines than a function may write', {...RAN, run: {...RUN, lines: Array(10_000).fill('x')}}],
    [
      'an interval that is empty',
      {...RAN, run: {...RUN, readSet: {intervals: [{table: 1, index: 0, lower: 'b', upper: 'a'}], absentTables: []}}},
    ],
    [
      'a table that is no number',
      {...RAN, run: {...RUN, readSet: {intervals: [{table: '1', index: 0, lower: 'a', upper: 'b'}], absentTables: []}}},
    ],
    ['a time that is none', {...RAN, run: {...RUN, starved: 'over', had: {cpuMs: -1, wallMs: 4_000}}}],
    ['a moment that is none', {...RAN, run: {...RUN, sequence: 1.5}}],
    ['an error that there is not', {type: 'refused', id: 1, error: {code: 'no.such', message: 'x'}, reason: null}],
    [
      'a damage that there is not',
      {
        type: 'refused',
        id: 1,
        error: {code: 'op.storage_damaged', message: 'x', detail: {check: 'made up'}},
        reason: null,
      },
    ],
    ['a call of what nobody offers', {type: 'call', id: 1, call: 2, operation: 'constructor', parameters: null}],
  ])('is refused: %s', (_title, message) => {
    expect(checkedMessage(message as Record<string, unknown>, 0)).toBeNull();
  });

  test('a value that is longer than a result may be is refused', () => {
    expect(checkedMessage(RAN, 3 * FUNCTION_RESULT_BYTES_MAX)).not.toBeNull();
    expect(checkedMessage(RAN, 3 * FUNCTION_RESULT_BYTES_MAX + 1)).toBeNull();
  });
});
