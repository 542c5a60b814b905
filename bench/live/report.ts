/** The live figures of all rounds: medians, the table, and the design's targets that concern them. */
import {median} from '../measure/statistics.ts';
import {atLeast, atMost, type Met} from '../measure/target.ts';
import {functionLivePrinted, functionLiveTargets} from './functions-report.ts';
import type {LiveRound} from './measure.ts';

const MOST_SOCKETS = 1_000;
const ONE_CHANGE_MS = 0.8;
const JOBS_PER_S = 14_000;

export function liveTargets(rounds: readonly LiveRound[]): Met[] {
  const of = (value: (round: LiveRound) => number | null): number =>
    median(rounds.map(value).filter(each => each !== null));
  const to = (round: LiveRound, sockets: number) => round.fanOut.find(({svc}) => svc.sockets === sockets)!;
  const most = (round: LiveRound) => to(round, MOST_SOCKETS);
  const deliveries = of(round => most(round).svc.deliveriesPerS / most(round).uws.deliveriesPerS);
  const p99 = of(round => most(round).svc.p99Ms / most(round).uws.p99Ms);
  const write = of(({writes}) => writes.with100000.ms / writes.with10.ms);
  const socket = of(({sockets}) => sockets.bytesPerSocket);
  return [
    atMost(
      'one change to one socket, p50',
      ONE_CHANGE_MS,
      of(round => to(round, 1).svc.p50Ms),
      ' ms',
    ),
    atLeast('fan-out to 1,000 / raw publish', 0.9, deliveries),
    atMost('its p99 / that of raw publish', 2, p99),
    atMost('write under 100,000 / under 10 live queries', 1.3, write),
    atLeast(
      'scheduled jobs due at once',
      JOBS_PER_S,
      of(({jobs}) => jobs.perS),
      '/s',
    ),
    ...functionLiveTargets(rounds.map(({functions}) => functions)),
    atMost('KiB an idle socket', 4, socket / 1024),
  ];
}

export function livePrinted(rounds: readonly LiveRound[]): string[] {
  if (rounds.length === 0) return [];
  const of = (value: (round: LiveRound) => number): number => median(rounds.map(value));
  const kib = (value: (round: LiveRound) => number | null): string => {
    const known = rounds.map(value).filter(each => each !== null);
    return known.length === 0 ? 'unknown' : `${(median(known) / 1024).toFixed(1)} KiB`;
  };
  const fanOut = (rounds[0]?.fanOut ?? []).map((first, i) => {
    const side = (name: 'svc' | 'count' | 'functions' | 'uws') =>
      `${Math.round(of(round => round.fanOut[i]![name].deliveriesPerS))}/s, ` +
      `p50 ${of(round => round.fanOut[i]![name].p50Ms).toFixed(2)} ms, p99 ${of(round => round.fanOut[i]![name].p99Ms).toFixed(2)} ms`;
    return `one change to ${first.svc.sockets} sockets: svc ${side('svc')}, count of 10,000 ${side('count')}, function query ${side('functions')} (fsync before the reply); raw publish ${side('uws')}`;
  });
  const write = (queries: keyof LiveRound['writes']): string => {
    const ms = `${of(({writes}) => writes[queries].ms).toFixed(2)} ms`;
    const spent = rounds.flatMap(({writes}) => writes[queries].cpuUs ?? []);
    if (spent.length === 0) return ms;
    const us = (part: 'router' | 'worker') => Math.round(median(spent.map(each => each[part])));
    return `${ms} (router ${us('router')} µs, worker ${us('worker')} µs)`;
  };
  return [
    ...fanOut,
    `a write under 10 live queries ${write('with10')}, under 100,000 ${write('with100000')} (fsync)`,
    `memory of the router: ${kib(({sockets}) => sockets.bytesPerSocket)} a socket, ${kib(({sockets}) => sockets.bytesPerSubscription)} a subscription`,
    `${rounds[0]?.sockets.sockets ?? 0} sockets reconnect and have their results in ${Math.round(of(({sockets}) => sockets.stormMs))} ms`,
    `scheduled jobs: ${Math.round(of(({jobs}) => jobs.perS))}/s (fsync a group)`,
    ...functionLivePrinted(rounds.map(({functions}) => functions)),
  ];
}
