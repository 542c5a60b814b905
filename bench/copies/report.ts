/** The figures of copies of all rounds: medians, the lines shown, and the targets. */
import {median} from '../measure/statistics.ts';
import {atLeast, atMost, type Met} from '../measure/target.ts';
import type {CopiesRound} from './measure.ts';

const of = (rounds: readonly CopiesRound[], value: (round: CopiesRound) => number) => median(rounds.map(value));
const threadUs = ({on, off}: CopiesRound) => (on.mainThreadUs ?? Number.NaN) - (off.mainThreadUs ?? Number.NaN);

export function copiesTargets(rounds: readonly CopiesRound[]): Met[] {
  if (rounds.length === 0) return [];
  const least = (what: string, wanted: number, value: (round: CopiesRound) => number) =>
    atLeast(what, wanted, of(rounds, value));
  const most = (what: string, wanted: number, value: (round: CopiesRound) => number) =>
    atMost(what, wanted, of(rounds, value));
  return [
    least('durable inserts/s with copies / without', 0.95, ({on, off}) => on.perS / off.perS),
    most('p99 of an insert with copies / without', 1.1, ({on, off}) => on.p99Ms / off.p99Ms),
    most('µs of the main thread of an insert for copies', 3, threadUs),
    least('restore / cp and integrity_check', 0.5, ({restore}) => restore.copyAndCheckS / restore.restoreS),
    most('PUTs of idle tenants', 0, ({idle}) => idle.puts),
    most('PUTs per second of busy tenants', 2, ({busy}) => busy.puts / busy.seconds),
  ];
}

export function copiesPrinted(rounds: readonly CopiesRound[]): string[] {
  if (rounds.length === 0) return [];
  const whole = (value: (round: CopiesRound) => number) => of(rounds, value).toFixed(0);
  const line = (side: 'on' | 'off') => {
    const [perS, p99] = [whole(round => round[side].perS), of(rounds, round => round[side].p99Ms).toFixed(2)];
    const us = of(rounds, round => round[side].mainThreadUs ?? Number.NaN).toFixed(1);
    return `inserts with copies ${side}: ${perS}/s, p99 ${p99} ms, main thread ${us} µs each`;
  };
  const {idle, busy} = rounds[0]!;
  return [
    line('on'),
    line('off'),
    `a write is in the repository, read back, after ${whole(({rpoMs}) => rpoMs.median)} ms (highest ${whole(({rpoMs}) => rpoMs.highest)} ms)`,
    `restore of ${whole(({restore}) => restore.bytes / 2 ** 20)} MiB: ${of(rounds, ({restore}) => restore.restoreS).toFixed(1)} s; cp and integrity_check ${of(rounds, ({restore}) => restore.copyAndCheckS).toFixed(1)} s`,
    `${idle.tenants} idle tenants: ${whole(round => round.idle.puts)} PUTs in ${idle.seconds} s; busy: ${whole(round => round.busy.puts)} in ${busy.seconds} s`,
  ];
}
