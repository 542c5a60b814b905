/** What crosses between a worker and the process of its isolates, and what the worker does not take from there. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {FUNCTION_RESULT_BYTES_MAX} from '../../../worker/runtime/guest/limits.ts';
import {checkedMessage} from '../../../worker/runtime/isolate-process/checked-message.ts';
import type {ToIsolates} from '../../../worker/runtime/isolate-process/isolate-message.ts';
import {QueryFrames} from '../../../worker/runtime/isolate-process/query-frames.ts';
import {RunFrames} from '../../../worker/runtime/isolate-process/run-frames.ts';
import {ISOLATE_FRAME_BYTES_MAX, QUERY_FRAME_CHARS} from '../../../worker/runtime/limits.ts';
import {FrameReceiver, FrameSender} from '../../../worker/runtime/process/frames.ts';
import {type PackedExecution, unpacked} from '../../../worker/runtime/queries/packed-executions.ts';
import {packedRun} from '../../../worker/runtime/queries/packed-run.ts';

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
const ran = (run: unknown, {id = 1 as unknown, at = 0, bytes = 0} = {}) => ({
  type: 'ran',
  runs: [[id, at, bytes, run]],
});
const RAN = ran(RUN);

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
    ['… that failed', ran({...RUN, outcome: {ok: false, error: {name: 'Error', message: 'x', stack: null}}})],
    ['… that was starved', ran({...RUN, starved: 'over', had: {cpuMs: 600, wallMs: 4_000}})],
    ['a refusal', {type: 'refused', id: 1, error: {code: 'session.overloaded', message: 'x'}, reason: null}],
    ['a call', {type: 'call', id: 1, call: 2, operation: 'runQuery', parameters: null}],
  ])('is taken: %s', (_title, message) => {
    expect(checkedMessage(message, 0)).toBe(message);
  });

  test.each([
    ['of no type', {}],
    ['of a type that there is not', {type: 'exec', id: 1}],
    ['of a call without a number', ran(RUN, {id: '1'})],
    ['a negative number', ran(RUN, {at: -1})],
    ['no run', ran(null)],
    ['an outcome without its error', ran({...RUN, outcome: {ok: false}})],
    ['a line that is none', ran({...RUN, lines: [1]})],
    ['more lines than a function may write', ran({...RUN, lines: Array(10_000).fill('x')})],
    [
      'an interval that is empty',
      ran({...RUN, readSet: {intervals: [{table: 1, index: 0, lower: 'b', upper: 'a'}], absentTables: []}}),
    ],
    [
      'a table that is no number',
      ran({...RUN, readSet: {intervals: [{table: '1', index: 0, lower: 'a', upper: 'b'}], absentTables: []}}),
    ],
    ['a time that is none', ran({...RUN, starved: 'over', had: {cpuMs: -1, wallMs: 4_000}})],
    ['a moment that is none', ran({...RUN, sequence: 1.5})],
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
    const most = 3 * FUNCTION_RESULT_BYTES_MAX;
    expect(checkedMessage(ran(RUN, {bytes: most}), most)).not.toBeNull();
    expect(checkedMessage(ran(RUN, {bytes: most + 1}), most + 1)).toBeNull();
  });

  test('values that are not the whole tail are refused, and so are no runs at all', () => {
    expect(checkedMessage(ran(RUN, {bytes: 3}), 3)).not.toBeNull();
    for (const tailBytes of [0, 2, 4]) expect(checkedMessage(ran(RUN, {bytes: 3}), tailBytes)).toBeNull();
    for (const runs of [[], [[]], [1], {}]) expect(checkedMessage({type: 'ran', runs}, 0)).toBeNull();
  });
});

const caller = fc.oneof(
  fc.record({identity: fc.option(fc.string({unit: 'grapheme'}))}),
  fc.record({invalid: fc.string({unit: 'grapheme'})}),
);
const execution: fc.Arbitrary<PackedExecution> = fc
  .record({
    deployment: fc.record({id: fc.nat(2), timestampMs: fc.constant(1), seed: fc.constant('s')}),
    name: fc.constantFrom('f', 'g', 'h'),
    args: fc.string({unit: 'grapheme', maxLength: 20}).filter(text => text.isWellFormed()),
    caller,
    nowMs: fc.nat(),
    seed: fc.string(),
    endCursor: fc.option(fc.string()),
    isWatched: fc.boolean(),
  })
  .map(({isWatched, name, ...rest}) => {
    const all = {...rest, path: `m:${name}`, module: 'm', name, paginated: name === 'h'};
    return isWatched ? {...all, isWatched} : all;
  });

describe('queries and their runs', () => {
  test('of one turn arrive as they were, as one message with each function once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(execution, {minLength: 1, maxLength: 12}), async executions => {
        const sent: [ToIsolates & {type: 'queries'}, string][] = [];
        const frames = new QueryFrames((message, args) => sent.push([message as ToIsolates & {type: 'queries'}, args]));
        for (const [number, one] of executions.entries()) frames.add([number, 0, 1], one);
        await new Promise(resolve => setImmediate(resolve));
        expect(sent).toHaveLength(1);
        const [[message, args]] = sent as [[ToIsolates & {type: 'queries'}, string]];
        const heard = JSON.parse(JSON.stringify(message)) as ToIsolates & {type: 'queries'};
        const env = {KEY: 'value'};
        expect(unpacked(heard, args, env)).toEqual(executions.map(one => ({...one, env})));
        expect(heard.slots).toEqual(executions.map((_, number) => [number, 0, 1]));
        const functions = new Set(executions.map(({path, deployment}) => `${path} ${deployment.id}`));
        expect(heard.functions).toHaveLength(functions.size);
      }),
    );
  });

  test('that are too long for one message are several, in their order', () => {
    const sent: string[] = [];
    const frames = new QueryFrames((_message, args) => sent.push(args));
    const args = ['a', 'b'.repeat(QUERY_FRAME_CHARS), 'c', 'd'];
    const one = fc.sample(execution, 1)[0]!;
    for (const [number, text] of args.entries()) frames.add([number, 0, 1], {...one, args: text});
    frames.flush();
    frames.flush();
    expect(sent).toEqual(['a', args[1], 'cd']);
  });

  test('runs of one turn arrive as one message that the worker takes, with each value', async () => {
    const value = fc.string({unit: 'grapheme', maxLength: 20}).filter(text => text.isWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.array(value, {minLength: 1, maxLength: 12}), async values => {
        const sent: [string, string][] = [];
        const frames = new RunFrames((head, tail) => sent.push([head, tail]));
        for (const [id, text] of values.entries()) {
          frames.add(id, 0, packedRun({...RUN, starved: null, outcome: {ok: true, value: text}}));
        }
        await new Promise(resolve => setImmediate(resolve));
        expect(sent).toHaveLength(1);
        const [[head, tail]] = sent as [[string, string]];
        const tailBytes = Buffer.byteLength(tail);
        const message = checkedMessage(JSON.parse(head) as Record<string, unknown>, tailBytes);
        expect(message).toEqual({
          type: 'ran',
          runs: values.map((text, id) => [id, 0, Buffer.byteLength(text), RUN]),
        });
        expect(tail).toBe(values.join(''));
      }),
    );
  });
});
