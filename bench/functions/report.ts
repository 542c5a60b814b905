/** The function figures of all rounds: medians, the lines shown, and the design's targets that concern them. */
import {median} from '../measure/statistics.ts';
import {atLeast, atMost, type Met} from '../measure/target.ts';
import type {FunctionRound, Rate} from './measure.ts';

const MIB = 1024 * 1024;
const COLD_MS_WANTED = 250;

export function functionTargets(rounds: readonly FunctionRound[]): Met[] {
  if (rounds.length === 0) return [];
  const target = (what: string, wanted: number, value: (round: FunctionRound) => number): Met =>
    atLeast(what, wanted, median(rounds.map(value)));
  const coldMs = median(rounds.map(round => round.coldMs));
  return [
    atMost('first function query of a sleeping tenant, ms', COLD_MS_WANTED, coldMs),
    target('function query / native get', 0.4, round => round.query.perS / round.nativeGet.perS),
    target('kept function query / native get', 0.95, round => round.keptQuery.perS / round.nativeGet.perS),
    target('function mutation / native insert', 0.7, round => round.mutation.perS / round.nativeInsert.perS),
    target('transfer / plain Node + better-sqlite3', 2.5, round => round.transfer.perS / round.plainTransfer.perS),
    target(
      'transfer under heavy contention / without',
      0.95,
      round => round.contendedTransfer.perS / round.transfer.perS,
    ),
  ];
}

export function functionsPrinted(rounds: readonly FunctionRound[]): string[] {
  if (rounds.length === 0) return [];
  const of = (value: (round: FunctionRound) => number) => median(rounds.map(value));
  const rate = (value: (round: FunctionRound) => Rate) => {
    const spent = rounds.flatMap(round => value(round).cpuUs ?? []);
    const us = spent.length === 0 ? '' : ` (${Math.round(median(spent))} µs)`;
    return `${Math.round(of(round => value(round).perS))}/s${us}`;
  };
  const memories = rounds.flatMap(({memory}) => memory ?? []);
  const mib = (value: (memory: NonNullable<FunctionRound['memory']>) => number) =>
    `${(median(memories.map(value)) / MIB).toFixed(0)} MiB`;
  return [
    `function query ${rate(round => round.query)}, kept ${rate(round => round.keptQuery)}, native get ${rate(round => round.nativeGet)}`,
    `function mutation ${rate(round => round.mutation)}, native insert ${rate(round => round.nativeInsert)} (fsync before each reply)`,
    `transfer between 2 of 100,000 accounts ${rate(round => round.transfer)}, plain server ${rate(round => round.plainTransfer)} (both fsync before each reply)`,
    `under contention (Zipf 1.5) ${rate(round => round.contendedTransfer)}, plain server ${rate(round => round.plainContendedTransfer)}`,
    `a query of a sleeping tenant ${of(({coldMs}) => coldMs).toFixed(0)} ms, of a warm one ${of(({warmMs}) => warmMs).toFixed(1)} ms`,
    memories.length === 0
      ? 'memory: unknown'
      : `private memory of the worker: ${mib(({before}) => before)} after a deploy, ${mib(({inUse}) => inUse)} in use, ${mib(({afterBurst}) => afterBurst)} a minute after a burst`,
  ];
}
