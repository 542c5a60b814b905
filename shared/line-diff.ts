/**
 * The difference between two texts, line by line, in the unified format (Myers' algorithm). Texts that differ too much
 * for it are shown as one replacement.
 */

/** Edits that are searched for; the search takes the square of that. */
const EDITS_MAX = 1_000;
const CONTEXT_LINES = 3;

/** `a`, `b`: the line's index in each text. */
type Line = {readonly op: ' ' | '-' | '+'; readonly text: string; readonly a: number; readonly b: number};

/** Hunks without the two lines that name the files; empty: the texts are equal. */
export function unifiedDiff(before: string, after: string): string[] {
  const lines = diffLines(linesOf(before), linesOf(after));
  const out: string[] = [];
  for (let at = lines.findIndex(isEdit); at !== -1; ) {
    let last = at;
    for (let i = at + 1; i < lines.length && i - last <= 2 * CONTEXT_LINES; i++) if (isEdit(lines[i]!)) last = i;
    const hunk = lines.slice(Math.max(0, at - CONTEXT_LINES), last + 1 + CONTEXT_LINES);
    const [first] = hunk;
    const inA = hunk.filter(({op}) => op !== '+').length;
    const inB = hunk.filter(({op}) => op !== '-').length;
    out.push(`@@ -${rangeText(first!.a, inA)} +${rangeText(first!.b, inB)} @@`, ...hunk.map(({op, text}) => op + text));
    const next = lines.slice(last + 1).findIndex(isEdit);
    at = next === -1 ? -1 : last + 1 + next;
  }
  return out;
}

/** In a range without lines, the number is that of the line before. */
function rangeText(start: number, count: number): string {
  return `${count === 0 ? start : start + 1},${count}`;
}

function isEdit({op}: Line): boolean {
  return op !== ' ';
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function diffLines(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  const equal = (from: number, to: number, shift: number): Line[] =>
    a.slice(from, to).map((text, i) => ({op: ' ', text, a: from + i, b: from + i + shift}));
  const middle = edits(a.slice(start, endA), b.slice(start, endB));
  const shifted = middle.map(line => ({...line, a: line.a + start, b: line.b + start}));
  return [...equal(0, start, 0), ...shifted, ...equal(endA, a.length, endB - endA)];
}

function edits(a: readonly string[], b: readonly string[]): Line[] {
  const trace: Int32Array[] = [];
  const most = Math.min(a.length + b.length, EDITS_MAX);
  /** By diagonal (index in a minus index in b): how far in a it was followed. */
  let reached = new Int32Array(2 * most + 3);
  const middle = most + 1;
  for (let d = 0; d <= most; d++) {
    trace.push(reached.slice());
    const next = reached.slice();
    for (let k = -d; k <= d; k += 2) {
      let x = isDown(reached, middle + k, k, d) ? reached[middle + k + 1]! : reached[middle + k - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return walkedBack(a, b, trace, middle);
    }
    reached = next;
  }
  return [
    ...a.map((text, i): Line => ({op: '-', text, a: i, b: 0})),
    ...b.map((text, i): Line => ({op: '+', text, a: a.length, b: i})),
  ];
}

/** Whether the furthest path to diagonal k comes from the one above, by a line that b adds. */
function isDown(reached: Int32Array, at: number, k: number, d: number): boolean {
  return k === -d || (k !== d && reached[at - 1]! < reached[at + 1]!);
}

function walkedBack(a: readonly string[], b: readonly string[], trace: readonly Int32Array[], middle: number): Line[] {
  const lines: Line[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reached = trace[d]!;
    const k = x - y;
    const from = isDown(reached, middle + k, k, d) ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reached[middle + from]!;
    const fromY = d === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) lines.push({op: ' ', text: a[--x]!, a: x, b: --y});
    if (d === 0) break;
    if (x === fromX) lines.push({op: '+', text: b[--y]!, a: x, b: y});
    else lines.push({op: '-', text: a[--x]!, a: x, b: y});
  }
  return lines.reverse();
}
