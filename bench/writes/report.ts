/** The figures of durable writes of all rounds, as medians. */
import {median} from '../measure/statistics.ts';
import type {WriteFigures, WriteRow, WritesRound} from './measure.ts';

export function writesPrinted(rounds: readonly WritesRound[]): string[] {
  const [first] = rounds;
  if (first === undefined) return [];
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(44)} ${cells.map(cell => cell.padStart(9)).join(' ')}`;
  const lines = [line('durable writes', ['per s', 'p50 ms', 'p99 ms', 'idle'])];
  for (const [i, {build, disk, rows}] of first.entries()) {
    for (const name of Object.keys(rows) as WriteRow[]) {
      const of = (key: keyof WriteFigures): number => median(rounds.map(round => round[i]!.rows[name][key]));
      const errors = rounds.reduce((sum, round) => sum + round[i]!.rows[name].errors, 0);
      const cells = [
        of('requestsPerS').toFixed(0),
        of('p50Ms').toFixed(2),
        of('p99Ms').toFixed(2),
        of('idleCpus').toFixed(2),
      ];
      lines.push(line(`${build}, ${disk}, ${name}`, cells) + (errors > 0 ? `; ${errors} ERRORS` : ''));
    }
  }
  return lines;
}
