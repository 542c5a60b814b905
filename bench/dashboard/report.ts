/** The figures of the dashboard of all rounds: medians, the lines shown, and the targets. */
import {median} from '../measure/statistics.ts';
import {atLeast, type Met} from '../measure/target.ts';
import type {DashboardRound} from './measure.ts';

const MIB = 1024 * 1024;
const GETS_RATIO = 0.98;

export function dashboardTargets(rounds: readonly DashboardRound[]): Met[] {
  if (rounds.length === 0) return [];
  return [atLeast('get by id with five dashboards / none', GETS_RATIO, getsRatio(rounds))];
}

export function dashboardPrinted(rounds: readonly DashboardRound[]): string[] {
  if (rounds.length === 0) return [];
  const ms = (key: 'largeMs' | 'smallMs') => Math.round(median(rounds.flatMap(round => round[key])));
  const mib = (key: 'before' | 'after') => (median(rounds.map(({heapBytes}) => heapBytes[key])) / MIB).toFixed(1);
  const part = Math.min(...rounds.map(({scrolled}) => scrolled.part));
  const seconds = median(rounds.map(({scrolled}) => scrolled.ms)) / 1_000;
  const turns = rounds.flatMap(({gets}) => gets);
  const side = (key: 'none' | 'five') => {
    const spent = turns.flatMap(turn => turn[key].cpuUs ?? []);
    const us = (part: 'router' | 'worker') =>
      spent.length === 0 ? '-' : median(spent.map(each => each[part])).toFixed(1);
    return `${Math.round(median(turns.map(turn => turn[key].requestsPerS)))}/s (router ${us('router')} µs, worker ${us('worker')} µs)`;
  };
  return [
    `dashboard: first row of ${rounds[0]!.documents} documents ${ms('largeMs')} ms, of a table of 100 ${ms('smallMs')} ms (cold pages)`,
    `heap of the page ${mib('before')} MiB, after scrolling through all ${mib('after')} MiB ` +
      `(${part < 1 ? `ONLY ${Math.round(part * 100)} %, ` : ''}in ${seconds.toFixed(0)} s)`,
    `get by id with no dashboard ${side('none')}, with five open ${side('five')}: ratio ${getsRatio(rounds).toFixed(3)} ` +
      `(their browser in the background; ${median(turns.map(({requests}) => requests))} requests and messages of theirs a turn)`,
  ];
}

function getsRatio(rounds: readonly DashboardRound[]): number {
  return median(rounds.flatMap(({gets}) => gets.map(({none, five}) => five.requestsPerS / none.requestsPerS)));
}
