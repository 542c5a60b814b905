/**
 * An index of key ranges and their holders. Finding all holders whose range contains a position takes logarithmic time,
 * plus a little per holder. Positions and bounds are bytes as one-byte strings (latin1): they compare as memcmp does,
 * take no more than their bytes, and do not keep a Buffer's slab alive.
 *
 * A range of a single position, which results from an equality, is in a hash map. The others are in a treap: a binary
 * tree ordered by lower bound that is a heap by random priorities, and so about as deep as a balanced tree. Each node
 * knows the largest upper bound of its subtree, so that a search skips subtrees that end before the position.
 */
import {hash} from 'node:crypto';

/** A stored range: the argument of `remove`. lower ≤ position < upper. */
export class Interval<H> {
  readonly lower: string;
  readonly upper: string;
  readonly holder: H;
  /** Distinguishes nodes with the same lower bound. */
  readonly order: number;
  readonly priority: number;
  /** The largest upper bound in its subtree. */
  largest: string;
  left: Interval<H> | null = null;
  right: Interval<H> | null = null;

  constructor(lower: string, upper: string, holder: H, order: number, priority: number) {
    this.lower = lower;
    this.upper = upper;
    this.holder = holder;
    this.order = order;
    this.priority = priority;
    this.largest = upper;
  }

  get isPoint(): boolean {
    return this.upper.length === this.lower.length + 1 && this.upper === `${this.lower}\0`;
  }
}

/** Longer keys of the map are hashed, because engines give long texts of equal length the same hash. */
const KEY_CHARS_PLAIN = 1024;

export class IntervalIndex<H> {
  readonly #points = new Map<string, Set<Interval<H>>>();
  #root: Interval<H> | null = null;
  #orders = 0;
  #random = 0x9e3779b9;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param lower below `upper` */
  add(lower: string, upper: string, holder: H): Interval<H> {
    const interval = new Interval(lower, upper, holder, this.#orders++, this.#priority());
    this.#size++;
    if (!interval.isPoint) this.#root = inserted(this.#root, interval);
    else {
      const key = pointKey(lower);
      const there = this.#points.get(key);
      if (there === undefined) this.#points.set(key, new Set([interval]));
      else there.add(interval);
    }
    return interval;
  }

  /** @param interval returned by `add` and not removed yet */
  remove(interval: Interval<H>): void {
    this.#size--;
    if (!interval.isPoint) this.#root = removed(this.#root, interval);
    else {
      const key = pointKey(interval.lower);
      const there = this.#points.get(key);
      there?.delete(interval);
      if (there?.size === 0) this.#points.delete(key);
    }
  }

  /** Adds every holder of a range with this position to `found`. */
  collect(place: string, found: Set<H>): void {
    if (this.#points.size > 0) {
      for (const {holder} of this.#points.get(pointKey(place)) ?? []) found.add(holder);
    }
    collectBelow(this.#root, place, found);
  }

  /** Adds every holder. */
  collectAll(found: Set<H>): void {
    for (const there of this.#points.values()) for (const {holder} of there) found.add(holder);
    addAll(this.#root, found);
  }

  /** xorshift32: outsiders neither see nor choose these numbers. */
  #priority(): number {
    let random = this.#random;
    random ^= random << 13;
    random ^= random >>> 17;
    random ^= random << 5;
    this.#random = random;
    return random;
  }
}

function pointKey(place: string): string {
  return place.length <= KEY_CHARS_PLAIN ? place : `\0${hash('sha256', place, 'base64')}`;
}

type Tree<H> = Interval<H> | null;

function collectBelow<H>(tree: Tree<H>, place: string, found: Set<H>): void {
  let node = tree;
  while (node !== null && node.largest > place) {
    if (node.left !== null) collectBelow(node.left, place, found);
    if (node.lower > place) return;
    if (node.upper > place) found.add(node.holder);
    node = node.right;
  }
}

function addAll<H>(tree: Tree<H>, found: Set<H>): void {
  for (let node = tree; node !== null; node = node.right) {
    found.add(node.holder);
    addAll(node.left, found);
  }
}

function isBefore<H>(a: Interval<H>, b: Interval<H>): boolean {
  return a.lower === b.lower ? a.order < b.order : a.lower < b.lower;
}

/** Returns the node with `largest` updated, after its children changed. */
function updated<H>(node: Interval<H>): Interval<H> {
  let largest = node.upper;
  if (node.left !== null && node.left.largest > largest) largest = node.left.largest;
  if (node.right !== null && node.right.largest > largest) largest = node.right.largest;
  node.largest = largest;
  return node;
}

function inserted<H>(tree: Tree<H>, node: Interval<H>): Interval<H> {
  if (tree === null) return node;
  if (node.priority > tree.priority) {
    [node.left, node.right] = split(tree, node);
    return updated(node);
  }
  if (isBefore(node, tree)) tree.left = inserted(tree.left, node);
  else tree.right = inserted(tree.right, node);
  return updated(tree);
}

/** Splits into the nodes before `at` and the nodes from `at` on. */
function split<H>(tree: Tree<H>, at: Interval<H>): [Tree<H>, Tree<H>] {
  if (tree === null) return [null, null];
  if (isBefore(tree, at)) {
    const [before, behind] = split(tree.right, at);
    tree.right = before;
    return [updated(tree), behind];
  }
  const [before, behind] = split(tree.left, at);
  tree.left = behind;
  return [before, updated(tree)];
}

function removed<H>(tree: Tree<H>, node: Interval<H>): Tree<H> {
  if (tree === null) return null;
  if (tree === node) {
    const rest = merged(node.left, node.right);
    node.left = null;
    node.right = null;
    return rest;
  }
  if (isBefore(node, tree)) tree.left = removed(tree.left, node);
  else tree.right = removed(tree.right, node);
  return updated(tree);
}

/** Every node of `a` comes before every node of `b`. */
function merged<H>(a: Tree<H>, b: Tree<H>): Tree<H> {
  if (a === null) return b;
  if (b === null) return a;
  if (a.priority > b.priority) {
    a.right = merged(a.right, b);
    return updated(a);
  }
  b.left = merged(a, b.left);
  return updated(b);
}
