/** The figures of durable writes of all rounds: medians, the lines shown, and the targets. */
import {median, medianOrNull} from '../measure/statistics.ts';
import {atMost, type Met} from '../measure/target.ts';
import {MANY_TENANTS, type WriteFigures, type WriteRow, type WritesRound} from './measure.ts';

type Measured = WritesRound[number];

const MB = 1_000_000;
const INSERT_US = 600;
const GET_US = 50;
const HALF_RATE_MS = 2;
const AWAKE_MB = 16;
const GET_TIMES = 2;

export function writesTargets(rounds: readonly WritesRound[]): Met[] {
  // The first is this build on this disk.
  const of = (value: (first: Measured) => number | null): number | null =>
    medianOrNull(rounds.map(round => value(round[0]!)));
  const insertUs = of(first => cpuUs(first, 'insert 100 tenants'));
  const getUs = of(first => cpuUs(first, 'get 100 tenants'));
  const halfMs = of(({rows}) => rows['insert half rate'].p50Ms);
  const awakeBytes = of(first => first.awakeBytes);
  const times = of(first => {
    const [many, one] = [cpuUs(first, 'get 100 tenants'), cpuUs(first, 'get 64')];
    return many === null || one === null ? null : many / one;
  });
  return [
    halfMs === null ? [] : atMost('p50 of an insert at half of the full rate', HALF_RATE_MS, halfMs, ' ms'),
    getUs === null ? [] : atMost(`processor time of a get of ${MANY_TENANTS} tenants`, GET_US, getUs, ' µs'),
    insertUs === null
      ? []
      : atMost(`processor time of an insert of ${MANY_TENANTS} tenants`, INSERT_US, insertUs, ' µs'),
    times === null ? [] : atMost(`processor time of a get of ${MANY_TENANTS} tenants / of one`, GET_TIMES, times),
    awakeBytes === null
      ? []
      : atMost(`private memory of each of ${MANY_TENANTS} awake tenants`, AWAKE_MB, awakeBytes / MB, ' MB'),
  ].flat();
}

export function writesPrinted(rounds: readonly WritesRound[]): string[] {
  const [first] = rounds;
  if (first === undefined) return [];
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(44)} ${cells.map(cell => cell.padStart(9)).join(' ')}`;
  const lines = [line('durable writes', ['per s', 'p50 ms', 'p99 ms', 'CPU µs', 'idle'])];
  for (const [i, {build, disk, rows}] of first.entries()) {
    for (const name of Object.keys(rows) as WriteRow[]) {
      const of = (value: (figures: WriteFigures) => number): number =>
        median(rounds.map(round => value(round[i]!.rows[name])));
      const errors = rounds.reduce((sum, round) => sum + round[i]!.rows[name].errors, 0);
      const cells = [
        of(({requestsPerS}) => requestsPerS).toFixed(0),
        of(({p50Ms}) => p50Ms).toFixed(2),
        of(({p99Ms}) => p99Ms).toFixed(2),
        medianOrNull(rounds.map(round => cpuUs(round[i]!, name)))?.toFixed(0) ?? '',
        of(({idleCpus}) => idleCpus).toFixed(2),
      ];
      lines.push(line(`${build}, ${disk}, ${name}`, cells) + (errors > 0 ? `; ${errors} ERRORS` : ''));
    }
    const bytes = medianOrNull(rounds.map(round => round[i]!.awakeBytes));
    if (bytes !== null)
      lines.push(`${build}, ${disk}, a worker of ${MANY_TENANTS}: ${(bytes / MB).toFixed(1)} MB of private memory`);
  }
  return lines;
}

/** Of the server's processes, for each request. */
function cpuUs({rows}: Measured, name: WriteRow): number | null {
  const us = rows[name].cpuUs;
  return us === null ? null : us.router + us.worker + us.other;
}
