/** The churn's figures, in words. */
import {median} from '../measure/statistics.ts';
import type {ChurnRound} from './measure.ts';

const MIB = 1024 * 1024;

export function churnPrinted(rounds: ChurnRound[]): string[] {
  const [first] = rounds;
  if (first === undefined) return [];
  const of = (key: (round: ChurnRound) => number | null): string => {
    const values = rounds.flatMap(round => key(round) ?? []);
    return values.length === 0 ? '-' : median(values).toFixed(1);
  };
  const wrong = rounds.reduce((sum, round) => sum + round.wrong, 0);
  return [
    `${first.tenants} tenants in turn with --max-awake ${first.maxAwake}: first response p50 ${of(r => r.p50Ms)} ms, p99 ${of(r => r.p99Ms)} ms; ` +
      `${of(r => r.cpuMsPerWake)} ms of processor time a wake; ${wrong === 0 ? 'every answer right' : `${wrong} WRONG ANSWERS`}`,
    `at most ${of(r => r.mostProcesses)} processes; from one turn to the next supervisor and router grew by ${of(r => r.growth?.files ?? null)} file descriptors ` +
      `and ${of(r => (r.growth === null ? null : r.growth.bytes / MIB))} MiB`,
  ];
}
