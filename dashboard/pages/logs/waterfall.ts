/** The tree of a request as lines with bars. A job runs perhaps hours later, so it and its calls have a scale of their own. */
import type {CallNode} from '../../../shared/call-tree.ts';

export type Bar = {
  readonly node: CallNode;
  readonly depth: number;
  /** From the beginning of the request to that of this execution. */
  readonly afterMs: number;
  /** Percent of the scale. */
  readonly left: number;
  readonly width: number;
};

type Scale = {readonly fromMs: number; readonly ms: number};

/** A bar is at least this wide, in percent, so that it is seen. */
const WIDTH_MIN = 0.5;

export function barsOf(tree: readonly CallNode[]): Bar[] {
  const fromMs = Math.min(...tree.map(({beganMs}) => beganMs));
  return tree.flatMap(root => barsBelow(root, 0, fromMs, scaleOf(root)));
}

function barsBelow(node: CallNode, depth: number, requestMs: number, outer: Scale): Bar[] {
  const scale = isJob(node) ? scaleOf(node) : outer;
  const {entry, beganMs} = node;
  const ms = entry?.duration_ms ?? ownEndOf(node) - beganMs;
  const width = Math.min(100, Math.max(WIDTH_MIN, (ms / scale.ms) * 100));
  const left = Math.min(100 - width, Math.max(0, ((beganMs - scale.fromMs) / scale.ms) * 100));
  const bar = {node, depth, afterMs: beganMs - requestMs, left, width};
  return [bar, ...node.calls.flatMap(call => barsBelow(call, depth + 1, requestMs, scale))];
}

function isJob({entry}: CallNode): boolean {
  return entry?.caller === 'job';
}

function scaleOf(node: CallNode): Scale {
  return {fromMs: node.beganMs, ms: Math.max(ownEndOf(node) - node.beganMs, Number.MIN_VALUE)};
}

/** When it and its calls had ended, except its jobs. */
function ownEndOf({entry, beganMs, calls}: CallNode): number {
  const own = entry === null ? beganMs : entry.at + entry.duration_ms;
  return Math.max(own, ...calls.filter(call => !isJob(call)).map(ownEndOf));
}
