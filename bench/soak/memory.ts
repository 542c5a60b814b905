/** What the processes of a server hold, sampled over time: by process, and how fast it grows. */
import {basename} from 'node:path';
import {commandLine, descendants, privateBytes} from '../measure/process-tree.ts';

const KINDS: ReadonlyMap<string, string> = new Map([
  ['router.js', 'router'],
  ['worker.js', 'worker'],
  ['egress.js', 'egress'],
  ['isolates.js', 'isolates'],
  ['node-child.js', 'node'],
  ['sandboxes.js', 'sandbox'],
  ['analysis.js', 'analysis'],
]);
/** Lengths of time of which the least sample counts: between two collections a heap grows by what is garbage. */
const FLOOR_MINUTES = 1;

type Sample = {minute: number; bytes: number};
export type Held = {
  pid: number;
  kind: string;
  samples: Sample[];
};

export class MemorySamples {
  readonly #root: number;
  readonly #startedMs = performance.now();
  readonly #held = new Map<number, Held>();

  /** @param root the server's first process */
  constructor(root: number) {
    this.#root = root;
  }

  get minute(): number {
    return (performance.now() - this.#startedMs) / 60_000;
  }

  look(): void {
    const {minute} = this;
    for (const pid of [this.#root, ...descendants(this.#root)]) {
      const memory = privateBytes(pid);
      if (memory === null) continue; // It has ended.
      const held = this.#held.get(pid) ?? {pid, kind: this.#kindOf(pid), samples: []};
      this.#held.set(pid, held);
      held.samples.push({minute, bytes: memory.clean + memory.dirty});
    }
  }

  /** In the order in which they were first seen. */
  get all(): Held[] {
    return [...this.#held.values()];
  }

  #kindOf(pid: number): string {
    if (pid === this.#root) return 'supervisor';
    const words = commandLine(pid).map(word => basename(word));
    return words.flatMap(word => KINDS.get(word) ?? [])[0] ?? 'other';
  }
}

/** By least squares through the floors of each minute, in bytes per minute; NaN: fewer than three minutes. */
export function growthPerMinute(samples: readonly Sample[]): number {
  const floors = new Map<number, Sample>();
  for (const sample of samples) {
    const at = Math.floor(sample.minute / FLOOR_MINUTES);
    const least = floors.get(at);
    if (least === undefined || sample.bytes < least.bytes) floors.set(at, sample);
  }
  const points = [...floors.values()];
  if (points.length < 3) return Number.NaN;
  const mean = (of: (point: Sample) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minute, bytes] = [mean(point => point.minute), mean(point => point.bytes)];
  const together = mean(point => (point.minute - minute) * (point.bytes - bytes));
  return together / mean(point => (point.minute - minute) ** 2);
}
