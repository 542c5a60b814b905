/** The figures of live functions of all rounds: medians, the lines shown, and the targets that concern them. */
import {median} from '../measure/statistics.ts';
import {atMost, type Met} from '../measure/target.ts';
import type {FunctionLive, MutationCost} from './functions.ts';
import type {SocketCosts} from './sockets.ts';

const STORM_MS_MAX = 5_000;
const SOCKET_KIB_MAX = 6;
const DISTINCT_MAX = 1.3;

export function functionLiveTargets(rounds: readonly FunctionLive[]): Met[] {
  const of = (value: (round: FunctionLive) => number | null): number =>
    median(rounds.map(value).filter(each => each !== null));
  const kib = (crowd: (round: FunctionLive) => SocketCosts): number => of(round => crowd(round).bytesInAll) / 1024;
  return [
    atMost(
      'mutation under 1,000 live functions / one',
      DISTINCT_MAX,
      of(round => round.distinct.ms / round.oneClient.ms),
    ),
    atMost(
      'ms until 5,000 function sockets are back',
      STORM_MS_MAX,
      of(round => round.crowd.stormMs),
    ),
    atMost(
      'KiB a function socket, router and worker',
      SOCKET_KIB_MAX,
      kib(round => round.crowd),
    ),
  ];
}

export function functionLivePrinted(rounds: readonly FunctionLive[]): string[] {
  const of = (value: (round: FunctionLive) => number): number => median(rounds.map(value));
  const cost = (which: (round: FunctionLive) => MutationCost): string => {
    const spent = rounds.flatMap(round => which(round).cpuUs ?? []);
    const us = (part: 'router' | 'worker') => Math.round(median(spent.map(each => each[part])));
    const cpu = spent.length === 0 ? '' : `, router ${us('router')} µs, worker ${us('worker')} µs`;
    const runs = (part: 'changed' | 'equal') => of(round => which(round).runs[part]).toFixed(2);
    return `${of(round => which(round).ms).toFixed(2)} ms (${runs('changed')} runs of use, ${runs('equal')} for nothing${cpu})`;
  };
  const weight = (which: (round: FunctionLive) => SocketCosts): string => {
    const known = rounds.map(round => which(round).bytesInAll).filter(each => each !== null);
    return known.length === 0 ? 'unknown' : `${(median(known) / 1024).toFixed(1)} KiB`;
  };
  const back = (which: (round: FunctionLive) => SocketCosts) => `${Math.round(of(round => which(round).stormMs))} ms`;
  return [
    `a mutation until its one subscriber is shown it, fsync: ${cost(round => round.oneClient)}`,
    `with 1,000 that watch other arguments: ${cost(round => round.distinct)}`,
    `with 10 that read what changes and do not show it: ${cost(round => round.blind)}`,
    `an update in a client: svc/browser ${Math.round(of(round => round.client['svc/browser'].cpuUs))} µs, a WebSocket and JSON.parse ${Math.round(of(round => round.client.bare.cpuUs))} µs`,
    `a function socket with its query in router and worker: ${weight(round => round.crowd)}, with arguments of its own ${weight(round => round.distinctCrowd)}`,
    `5,000 function sockets reconnect and have their results in ${back(round => round.crowd)}, with arguments of their own ${back(round => round.distinctCrowd)}`,
  ];
}
