/**
 * The executions of a trace as a tree: a request, the calls it made, and the jobs that these scheduled. Entries can be
 * missing: an execution that has not ended, or one that succeeded silently and is no longer in memory. Its calls then
 * share a node without an entry.
 */
import type {LogEntry} from './protocol/functions.ts';

export type CallNode = {
  /** Null: it is known by its calls only. */
  readonly entry: LogEntry | null;
  /** By the time they began. */
  readonly calls: readonly CallNode[];
  readonly beganMs: number;
  /** When it and all its calls had ended. */
  readonly endedMs: number;
};

type Building = {entry: LogEntry | null; readonly calls: Building[]; isPlaced: boolean};

/** @param entries in any order; an entry that appears again is left out */
export function callTree(entries: readonly LogEntry[]): CallNode[] {
  const byId = new Map<string, Building>();
  const all: Building[] = [];
  for (const entry of entries) {
    const id = entry.call_id ?? `${entry.n} ${entry.at} ${entry.request_id}`;
    if (byId.has(id)) continue;
    const node: Building = {entry, calls: [], isPlaced: false};
    byId.set(id, node);
    all.push(node);
  }
  const missing: Building[] = [];
  const roots: Building[] = [];
  for (const node of all) {
    const parentId = node.entry!.parent_call_id ?? null;
    if (parentId === null) {
      roots.push(node);
      continue;
    }
    let parent = byId.get(parentId);
    if (parent === undefined) {
      parent = {entry: null, calls: [], isPlaced: false};
      byId.set(parentId, parent);
      missing.push(parent);
    }
    parent.calls.push(node);
  }
  const tree = [...roots, ...missing].map(placed);
  // Whatever is left is in a circle of parents, which no server writes. Its members are shown without one.
  for (const node of all) if (!node.isPlaced) tree.push(placed(node));
  return inOrder(tree);
}

/** @param node its calls that are placed already are left out, so a circle ends */
function placed(node: Building): CallNode {
  node.isPlaced = true;
  const calls: CallNode[] = [];
  for (const call of node.calls) if (!call.isPlaced) calls.push(placed(call));
  const {entry} = node;
  const ends = calls.map(({endedMs}) => endedMs);
  return {
    entry,
    calls: inOrder(calls),
    beganMs: entry?.at ?? Math.min(...calls.map(({beganMs}) => beganMs)),
    endedMs: Math.max(...ends, entry === null ? Number.NEGATIVE_INFINITY : entry.at + entry.duration_ms),
  };
}

function inOrder(nodes: CallNode[]): CallNode[] {
  return nodes.sort((a, b) => a.beganMs - b.beganMs || (a.entry?.n ?? 0) - (b.entry?.n ?? 0));
}

/** A node with its depth, in the order of reading. */
export type CallLine = {readonly node: CallNode; readonly depth: number};

export function linesOfTree(nodes: readonly CallNode[], depth = 0): CallLine[] {
  return nodes.flatMap(node => [{node, depth}, ...linesOfTree(node.calls, depth + 1)]);
}
