/** The figures of imports of all rounds: medians, the line shown, and the target. */
import {median} from '../measure/statistics.ts';
import {atLeast, type Met} from '../measure/target.ts';
import type {BulkRound} from './measure.ts';

const WANTED_PER_S = 50_000;

export function bulkTargets(rounds: readonly BulkRound[]): Met[] {
  if (rounds.length === 0) return [];
  const measured = median(rounds.map(({svc}) => svc.perS));
  return [atLeast("imported documents/s of the demo's shape", WANTED_PER_S, measured)];
}

export function bulkPrinted(rounds: readonly BulkRound[]): string[] {
  if (rounds.length === 0) return [];
  const whole = (values: readonly number[]) => (values.length === 0 ? '-' : Math.round(median(values)).toString());
  const spent = (part: 'router' | 'worker') => whole(rounds.flatMap(({svc}) => svc.cpuUs?.[part] ?? []));
  return [
    `import of all cities: ${whole(rounds.map(({svc}) => svc.perS))} documents/s, router ${spent('router')} and worker ${spent('worker')} µs each; ` +
      `raw SQLite ${whole(rounds.map(({raw}) => raw.perS))}/s, ${median(rounds.map(({raw}) => raw.cpuUs)).toFixed(1)} µs; ` +
      `ratio ${median(rounds.map(({svc, raw}) => svc.perS / raw.perS)).toFixed(2)}`,
  ];
}
