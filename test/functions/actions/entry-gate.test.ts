/** How many actions of a thread may compute at once, as far as memory allows. */
import {expect, test} from 'vitest';
import {EntryGate} from '../../../worker/runtime/actions/entry-gate.ts';
import {ENTRY_BYTES, FUNCTIONS_PROCESS_BYTES_END} from '../../../worker/runtime/limits.ts';

test('as many begin at once as may take their most; the others follow in order', async () => {
  const gate = new EntryGate(() => FUNCTIONS_PROCESS_BYTES_END - 2 * ENTRY_BYTES);
  const [first, second, third, fourth] = [gate.enter(), gate.enter(), gate.enter(), gate.enter()];
  expect([first, second, third, fourth].map(({isInside}) => isInside)).toEqual([true, true, false, false]);
  second!.leave();
  await third!.admitted;
  expect([third!.isInside, fourth!.isInside]).toEqual([true, false]);
  first!.leave();
  third!.leave();
  expect(fourth!.isInside).toBe(true);
  fourth!.leave();
});

test('one goes on however much memory is taken', () => {
  const gate = new EntryGate(() => 2 * FUNCTIONS_PROCESS_BYTES_END);
  const [first, second] = [gate.enter(), gate.enter()];
  expect([first.isInside, second.isInside]).toEqual([true, false]);
  first.leave();
  expect(second.isInside).toBe(true);
  second.leave();
});

test('one that computes long does not keep the others waiting', async () => {
  const gate = new EntryGate(() => 0);
  const computing = [gate.enter(), gate.enter()];
  const waiting = gate.enter();
  expect(waiting.isInside).toBe(false);
  await waiting.admitted;
  expect(waiting.isInside).toBe(true);
  for (const entry of [...computing, waiting]) entry.leave();
});

test('one that is given up while it waits gets an error, and takes no slot', async () => {
  const gate = new EntryGate(() => FUNCTIONS_PROCESS_BYTES_END);
  const [first, second, third] = [gate.enter(), gate.enter(), gate.enter()];
  second!.leave();
  await second!.admitted;
  expect(second!.isInside).toBe(false);
  first!.leave();
  expect(third!.isInside).toBe(true);
  third!.leave();
});
