/** Calls of functions since the last report of their worker, by name. What a worker reports is outside input. */
import {Buffer} from 'node:buffer';
import {FIGURE_FUNCTIONS_MAX} from '../limits.ts';
import {LATENCY_BUCKETS, latencyBucket} from './latency.ts';

/** Longer names are counted as OTHER_FUNCTIONS. */
export const FUNCTION_NAME_BYTES_MAX = 95;
/** Functions beyond FIGURE_FUNCTIONS_MAX, together. No function has this name, which lacks a module. */
export const OTHER_FUNCTIONS = 'other';

/** `latencies`: by bucket. */
export type FunctionCount = {name: string; calls: number; errors: number; latencies: number[]};

export class FunctionCounts {
  #counts = new Map<string, FunctionCount>();

  add(name: string, isFailed: boolean, ms: number): void {
    let count = this.#counts.get(name);
    if (count === undefined) {
      const known = boundedName(name, this.#counts);
      count = this.#counts.get(known) ?? {name: known, calls: 0, errors: 0, latencies: noLatencies()};
      this.#counts.set(known, count);
    }
    count.calls++;
    if (isFailed) count.errors++;
    count.latencies[latencyBucket(ms)]!++;
  }

  /** Those since the last call. */
  take(): FunctionCount[] {
    const counts = [...this.#counts.values()];
    if (counts.length > 0) this.#counts = new Map();
    return counts;
  }
}

/** The name under which it is counted beside those. */
export function boundedName(name: string, counted: ReadonlyMap<string, unknown>): string {
  if (counted.has(name)) return name;
  const isNew = counted.size < FIGURE_FUNCTIONS_MAX && Buffer.byteLength(name) <= FUNCTION_NAME_BYTES_MAX;
  return isNew ? name : OTHER_FUNCTIONS;
}

/** Null: a protocol violation. */
export function functionCountsIn(text: string): FunctionCount[] | null {
  try {
    const counts: unknown = JSON.parse(text);
    const isValid = Array.isArray(counts) && counts.length <= FIGURE_FUNCTIONS_MAX + 1 && counts.every(isCount);
    return isValid ? (counts as FunctionCount[]) : null;
  } catch {
    return null;
  }
}

function isCount(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false;
  const {name, calls, errors, latencies} = given as Record<string, unknown>;
  const isNamed = typeof name === 'string' && name !== '' && Buffer.byteLength(name) <= FUNCTION_NAME_BYTES_MAX;
  const isCounted = isNumber(calls) && isNumber(errors) && Array.isArray(latencies);
  return isNamed && isCounted && latencies.length === LATENCY_BUCKETS && latencies.every(isNumber);
}

function isNumber(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff_ffff;
}

function noLatencies(): number[] {
  return new Array<number>(LATENCY_BUCKETS).fill(0);
}
