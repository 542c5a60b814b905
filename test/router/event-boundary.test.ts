import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {EventBoundary} from '../../router/http/event-boundary.ts';

/** Events as workers write them: with a name, an id, or data, or without. */
const event = fc.record({
  name: fc.constantFrom(null, 'open'),
  id: fc.option(fc.integer({min: 0, max: 1_000_000}), {nil: null}),
  data: fc.option(
    fc
      .record({text: fc.constantFrom('', 'id: 7', '\n\nid: 8\n', 'ü', 'x'.repeat(80))})
      .map(fields => JSON.stringify(fields)),
    {nil: null},
  ),
});

test('the position of a stream is the id of the last event, and never an older one, however its bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(event, {maxLength: 12}), fc.array(fc.nat({max: 120}), {maxLength: 30}), (events, cuts) => {
      const boundary = new EventBoundary();
      let text = '';
      /** By the length of what was sent: the position, if that is the end of an event. */
      const positions = new Map<number, string | null>();
      let id: string | null = null;
      for (const one of events) {
        if (one.id === null && one.data === null) continue;
        if (one.name !== null && one.data !== null) text += `event: ${one.name}\n`;
        if (one.id !== null) {
          text += `id: ${one.id}\n`;
          id = String(one.id);
        }
        if (one.data !== null) text += `data: ${one.data}\n`;
        text += '\n';
        positions.set(Buffer.byteLength(text), id);
      }
      const bytes = Buffer.from(text);
      let at = 0;
      let cut = 0;
      while (at < bytes.length) {
        const end = cut < cuts.length ? Math.min(bytes.length, at + 1 + cuts[cut++]!) : bytes.length;
        boundary.passed(bytes.subarray(at, end));
        at = end;
        const found = boundary.continuesAfter;
        if (found !== null) expect(found).toBe(positions.get(at));
      }
    }),
    {numRuns: 2_000},
  );
});

test('events that arrive whole always have a position', () => {
  const boundary = new EventBoundary();
  const passed = (text: string) => boundary.passed(Buffer.from(text));
  passed('retry: 1000\n\n');
  expect(boundary.continuesAfter).toBeNull();
  passed('event: open\nid: 5\ndata: {}\n\n');
  expect(boundary.continuesAfter).toBe('5');
  passed('id: 6\ndata: {"id: 9":1}\n\nid: 7\ndata: {}\n\n');
  expect(boundary.continuesAfter).toBe('7');
  passed('id: 12\n\n');
  expect(boundary.continuesAfter).toBe('12');
  passed('id: 13\ndata: {');
  expect(boundary.continuesAfter).toBeNull();
  passed('}\n\n');
  expect(boundary.continuesAfter).toBeNull();
  passed('id: 14\ndata: {}\n\n');
  expect(boundary.continuesAfter).toBe('14');
});
