/** The tree of a request: any set of executions, in any order, becomes a tree that has each of them once. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {callTree, linesOfTree} from '../../../shared/call-tree.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {entryOf} from '../../harness/log-entry.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const entry = fc.record(
  {n: fc.nat(9), at: fc.nat(50), duration_ms: fc.nat(20), call_id: id, parent_call_id: fc.option(id)},
  {requiredKeys: ['n', 'at', 'duration_ms']},
);

const keyOf = ({call_id, n, at}: LogEntry) => call_id ?? `${n} ${at}`;

test('each execution is in the tree once, under its parent, and no call is outside of its parent', () => {
  fc.assert(
    fc.property(fc.array(entry, {maxLength: 12}), fc.infiniteStream(fc.nat(100)), (parts, order) => {
      const entries = parts.map(entryOf);
      const lines = linesOfTree(callTree(entries));
      const shown = lines.flatMap(({node}) => node.entry ?? []).map(keyOf);
      expect(shown.sort()).toEqual([...new Set(entries.map(keyOf))].sort());
      for (const {node} of lines) {
        for (const call of node.calls) {
          expect(call.endedMs).toBeLessThanOrEqual(node.endedMs);
          if (node.entry !== null) expect(call.entry?.parent_call_id).toBe(node.entry.call_id);
        }
        const begins = node.calls.map(({beganMs}) => beganMs);
        expect(begins).toEqual([...begins].sort((a, b) => a - b));
      }
      // Without repeated ids, the order of the entries does not matter.
      const ids = entries.map(keyOf);
      if (new Set(ids).size < ids.length || hasCircle(entries)) return;
      const shuffled = entries
        .map(one => ({one, by: order.next().value as number}))
        .sort((a, b) => a.by - b.by)
        .map(({one}) => one);
      const shape = (list: LogEntry[]) => linesOfTree(callTree(list)).length;
      expect(shape(shuffled)).toBe(lines.length);
    }),
  );
});

function hasCircle(entries: LogEntry[]): boolean {
  const parents = new Map(entries.map(({call_id, parent_call_id}) => [call_id, parent_call_id]));
  return entries.some(({call_id}) => {
    let above = parents.get(call_id);
    for (let steps = 0; above != null && steps <= entries.length; steps++) above = parents.get(above);
    return above != null;
  });
}

test('calls of an execution that is not in the log share a node', () => {
  const [first, second] = ['b', 'c'].map((call_id, i) => entryOf({call_id, parent_call_id: 'gone', at: 5 + i}));
  const [root, ...more] = callTree([second!, first!]);
  expect(more).toEqual([]);
  expect(root).toMatchObject({entry: null, beganMs: 5, endedMs: 7});
  expect(root!.calls.map(({entry: one}) => one!.call_id)).toEqual(['b', 'c']);
});
