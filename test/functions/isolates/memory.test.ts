/** What functions may make the host keep or look at. */
import {describe, expect, test} from 'vitest';
import {ActionLines} from '../../../worker/runtime/actions/action-lines.ts';
import {LOG_OVERFLOW} from '../../../worker/runtime/console-lines.ts';
import {ERROR_MESSAGE_CHARS_MAX, LOG_LINE_CHARS_MAX} from '../../../worker/runtime/guest/limits.ts';
import {LOG_CALL_CHARS_MAX} from '../../../worker/runtime/limits.ts';
import {SourcePositions} from '../../../worker/runtime/source-positions.ts';
import {handler, TestRunner} from './runner.ts';

describe('errors are cut before they leave the isolate', () => {
  test.each([
    ['a message', "throw new Error('x'.repeat(2e7))"],
    ['a stack', "const error = new Error('y'); error.stack = 'at a.js:1:1\\n'.repeat(3e6); throw error"],
    ['a name', "const error = new Error('z'); error.name = 'n'.repeat(1e7); throw error"],
    ['a text', "throw 'x'.repeat(2e7)"],
    [
      'a message, with slice replaced',
      "String.prototype.slice = function () { return this; }; throw new Error('x'.repeat(2e7))",
    ],
  ])('%s', (_title, body) => {
    const {outcome} = new TestRunner({'a.js': handler('f', body)}).run('a:f');
    if (outcome.ok) throw new Error('it succeeded');
    const {name, message, stack} = outcome.error;
    expect(name.length + message.length + (stack?.length ?? 0)).toBeLessThan(4 * ERROR_MESSAGE_CHARS_MAX);
  });
});

test('a console line is cut in the realm, whatever was done to its texts', () => {
  const body =
    "String.prototype.slice = function () { return this; }; console.log('x'.repeat(30_000), 'y'.repeat(30_000));";
  const {lines} = new TestRunner({'a.js': handler('f', body)}).run('a:f');
  expect(lines[0]!.length).toBeLessThan(LOG_LINE_CHARS_MAX + 100);
});

test('the lines of an action and all it calls have a bound together', () => {
  const lines = new ActionLines();
  const nested = Array.from({length: 100}, () => 'x'.repeat(LOG_LINE_CHARS_MAX));
  for (let i = 0; i < 100; i++) lines.addNested(nested);
  lines.add('one more');
  expect(lines.all.reduce((sum, {length}) => sum + length, 0)).toBeLessThan(LOG_CALL_CHARS_MAX + LOG_LINE_CHARS_MAX);
  expect(lines.all.at(-1)).toBe(LOG_OVERFLOW);
});

test('source maps are asked for again instead of being kept for names that user code made up', () => {
  let asked = 0;
  const positions = new SourcePositions(() => {
    asked++;
    return null;
  });
  const stack = Array.from({length: 9}, (_, i) => `    at f (made-up-${i}.js:1:1)`).join('\n');
  for (let i = 0; i < 2; i++) positions.describe({name: 'Error', message: 'x', stack});
  expect(asked).toBe(18);
});

test('a source map that takes seconds to read is not read', () => {
  const text = JSON.stringify({version: 3, sources: ['a.ts'], names: [], mappings: 'AAAA,'.repeat(2e6)});
  const positions = new SourcePositions(() => text);
  expect(positions.find('a.js', 1, 1)).toBeNull();
  const short = new SourcePositions(() => JSON.stringify({version: 3, sources: ['a.ts'], names: [], mappings: 'AAAA'}));
  expect(short.find('a.js', 1, 1)).toMatchObject({file: 'a.ts'});
});

test('arrays and objects of a result are JSON whatever was done to join', () => {
  const body = "Array.prototype.join = () => 'broken'; return {a: [1, 2, {b: 3}], c: 'd'}";
  expect(new TestRunner({'a.js': handler('f', body)}).value('a:f')).toEqual({a: [1, 2, {b: 3}], c: 'd'});
});
