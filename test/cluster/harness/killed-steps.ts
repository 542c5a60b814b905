/** Which of the changes of a course a process is killed at: more at night than in a commit. */
import {rounds} from '../../harness/nightly.ts';
import {seededRandom} from '../../harness/random.ts';

/** @param count of all changes. The seed is printed; SVC_CLUSTER_SEED repeats it. */
export function killedSteps(count: number): number[] {
  const seed = Number(process.env.SVC_CLUSTER_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const some = rounds({commit: 5, nightly: 60});
  console.info(`seed ${seed}: ${Math.min(some, count)} of ${count} changes`);
  const random = seededRandom(seed);
  const all = Array.from({length: count}, (_, step) => ({step, at: random()}));
  return all
    .sort((a, b) => a.at - b.at)
    .slice(0, some)
    .map(({step}) => step);
}
