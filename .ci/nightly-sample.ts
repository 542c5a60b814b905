/** Prints the nightly files that CI runs, one in a line. Argument: the seed that chooses them. */
import {join} from 'node:path';
import {nightlySample} from '../test/harness/tiers.ts';

const [seed] = process.argv.slice(2);
if (seed === undefined) throw new Error('Usage: nightly-sample.ts SEED');
console.log(nightlySample(join(import.meta.dirname, '..'), seed).join('\n'));
