/** The figures of imports of all rounds: medians, the line shown, and the target. */
import {median} from '../measure/statistics.ts';
import type {BulkRound} from './measure.ts';

type Target = {what: string; measured: number; wanted: string; isMet: boolean};

const WANTED_PER_S = 50_000;

export function bulkTargets(rounds: readonly BulkRound[]): Target[] {
  if (rounds.length === 0) return [];
  const measured = median(rounds.map(({svc}) => svc.perS));
  const wanted = `at least ${WANTED_PER_S}`;
  return [{what: "imported documents/s of the demo's shape", measured, wanted, isMet: measured >= WANTED_PER_S}];
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
