/** Random seeds for executions. */
import {randomBytes} from 'node:crypto';

/** Seeds are generated in batches: one call per seed would cost as much as a small query. */
let seeds = '';
const SEED_CHARS = 32;
export function newSeed(): string {
  if (seeds.length < SEED_CHARS) seeds = randomBytes(SEED_CHARS * 64).toString('hex');
  const seed = seeds.slice(-SEED_CHARS);
  seeds = seeds.slice(0, -SEED_CHARS);
  return seed;
}
