/** The figures of a cluster of all rounds: medians, the lines shown, and the targets. */
import {median} from '../measure/statistics.ts';
import {atLeast, atMost, type Met} from '../measure/target.ts';
import {type ClusterRound, SIDES} from './measure.ts';

/** A group waits for the log and for the disk of its host at the same time. */
const GROUP_TIMES_MOST = 1.5;
const FORWARDED_LEAST = 0.6;
const FOLLOWER_LEAST = 1;
const FOLLOWER_SLACK = 0.05;

const of = (rounds: readonly ClusterRound[], value: (round: ClusterRound) => number) => median(rounds.map(value));

/** A group or a request with `--ack replicated`, by a bare append and one of one host. */
const timesOf =
  (figure: 'groupMs' | 'p50Ms') =>
  ({inserts, bareAppendMs}: Pick<ClusterRound['withoutStandbys'], 'inserts' | 'bareAppendMs'>) =>
    inserts.replicated[figure] / (bareAppendMs + inserts['one host'][figure]);
const [groupTimes, requestTimes] = [timesOf('groupMs'), timesOf('p50Ms')];

export function clusterTargets(rounds: readonly ClusterRound[]): Met[] {
  if (rounds.length === 0) return [];
  const times = of(rounds, ({withoutStandbys}) => groupTimes(withoutStandbys));
  const forwarded = of(rounds, ({gets}) => gets.forwarded.perS / gets.local.perS);
  const follower = of(rounds, ({followerRatio}) => followerRatio);
  return [
    atMost('replicated group / (append + own group), no standbys', GROUP_TIMES_MOST, times),
    atLeast('get of another host / of this one', FORWARDED_LEAST, forwarded),
    atLeast('applied by a standby / written by its owner', FOLLOWER_LEAST - FOLLOWER_SLACK, follower),
  ];
}

export function clusterPrinted(rounds: readonly ClusterRound[]): string[] {
  if (rounds.length === 0) return [];
  const inserts = SIDES.flatMap(side =>
    (['inserts', 'lone'] as const).map(kind => {
      const figure = (key: 'perS' | 'p50Ms' | 'p99Ms' | 'groupMs') => of(rounds, round => round[kind][side][key]);
      const what = kind === 'inserts' ? '64 connections' : '1 connection';
      const times = `p50 ${figure('p50Ms').toFixed(2)} ms, p99 ${figure('p99Ms').toFixed(2)} ms`;
      return `insert, ${side}, ${what}: ${figure('perS').toFixed(0)}/s, ${times}, a group ${figure('groupMs').toFixed(2)} ms`;
    }),
  );
  const gets = (['local', 'forwarded'] as const).map(kind => {
    const figure = (key: 'perS' | 'p50Ms' | 'cpuUs') => of(rounds, round => round.gets[kind][key]);
    const each = `p50 ${figure('p50Ms').toFixed(2)} ms, ${figure('cpuUs').toFixed(0)} \u00b5s of CPU on both hosts`;
    return `get of the worker, ${kind}: ${figure('perS').toFixed(0)}/s, ${each}`;
  });
  const alone = (times: typeof groupTimes) => of(rounds, ({withoutStandbys}) => times(withoutStandbys)).toFixed(2);
  const shared = (times: typeof groupTimes) => of(rounds, times).toFixed(2);
  const ratios = [
    `a replicated group / (append + own group): ${alone(groupTimes)}, with two standbys ${shared(groupTimes)}`,
    `a replicated insert / (append + insert of one host), p50: ${alone(requestTimes)}, with two standbys ${shared(requestTimes)}`,
  ];
  return [
    ...inserts,
    ...ratios,
    `a bare append: ${of(rounds, ({bareAppendMs}) => bareAppendMs).toFixed(2)} ms`,
    ...gets,
  ];
}
