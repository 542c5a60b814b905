/** Chooses some of many, each with the same probability. */
import {randomInt} from 'node:crypto';

export function randomOnes<T>(all: readonly T[], count: number): T[] {
  const rest = [...all];
  const chosen: T[] = [];
  while (chosen.length < count && rest.length > 0) chosen.push(...rest.splice(randomInt(rest.length), 1));
  return chosen;
}
