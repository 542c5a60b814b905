/** Which accounts the transfers of a benchmark touch: evenly, or most of them a few (Zipf). */

export const ACCOUNTS = 100_000;
/** How heavy the contention is: with 1.5 the first account is in more than a third of all transfers. */
export const ZIPF_EXPONENT = 1.5;
const TRANSFERS = 20_000;

export type Pair = readonly [from: number, to: number];

/** The same pairs in every run. @param exponent 0: every account is as likely as any other */
export function transfers(exponent: number): Pair[] {
  const random = generator(42);
  const draw = exponent === 0 ? () => Math.floor(random() * ACCOUNTS) : zipf(exponent, random);
  return Array.from({length: TRANSFERS}, () => {
    const from = draw();
    let to = draw();
    while (to === from) to = draw();
    return [from, to] as const;
  });
}

function zipf(exponent: number, random: () => number): () => number {
  const sums = new Float64Array(ACCOUNTS);
  let sum = 0;
  for (let i = 0; i < ACCOUNTS; i++) {
    sum += 1 / (i + 1) ** exponent;
    sums[i] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = ACCOUNTS - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** mulberry32 */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
