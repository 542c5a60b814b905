/** The design's targets that concern HTTP, each as a ratio (or figure) of one run. */
import {atLeast, atMost, type Met} from './measure/target.ts';
import type {WakeResult} from './peers/svc/wake.ts';
import type {Round} from './round.ts';
import type {RowName} from './rows.ts';

export type Target = {
  /** Of one round; null when a side was not measured. */
  measured: (round: Round, wake: WakeResult) => number | null;
  judged: (measured: number) => Met;
};

const MIB = 1024 * 1024;

export const TARGETS: readonly Target[] = [
  least('get by id / raw uWebSockets.js', 0.45, ratio('svc get 1 tenant', 'uws static')),
  least('get by id / one process by hand', 1, ratio('svc get 1 tenant', 'hand get')),
  least('get by id / PocketBase', 20, ratio('svc get 1 tenant', 'pocketbase get')),
  least('durable insert / one process by hand', 0.85, ratio('svc insert 1 tenant', 'hand insert')),
  most(
    'processor time of a durable insert / one process by hand',
    2,
    '',
    cpuRatio('svc insert 1 tenant', 'hand insert'),
  ),
  most('processor time of a lone insert / one process by hand', 2, '', cpuRatio('svc lone-insert', 'hand lone-insert')),
  least('lone insert / one process by hand', 0.5, ratio('svc lone-insert', 'hand lone-insert')),
  least('durable insert / PocketBase (no fsync)', 10, ratio('svc insert 1 tenant', 'pocketbase insert')),
  least('indexed query / own get that the worker answers', 0.5, ratio('svc query 1 tenant', 'svc worker-get 1 tenant')),
  least('indexed query / one process by hand', 1.5, ratio('svc query 1 tenant', 'hand query')),
  least('the same of more documents than caches hold', 0.8, ratio('svc wide-query', 'hand wide-query')),
  least('get by id / the build before', 0.95, ratio('svc get 1 tenant', 'before get')),
  least('get that the worker answers / the build before', 0.95, ratio('svc worker-get 1 tenant', 'before worker-get')),
  least('durable insert / the build before', 0.95, ratio('svc insert 1 tenant', 'before insert')),
  least('indexed query / the build before', 0.95, ratio('svc query 1 tenant', 'before query')),
  most('cold wake / bare node start', 1.5, '', (_, {coldMs, bareNodeMs}) => coldMs / bareNodeMs),
  most('wake with a spare worker', 15, ' ms', (_, {spareMs}) => spareMs),
  most('private dirty memory of an idle tenant', 20, ' MiB', (_, {idlePrivateDirtyBytes: bytes}) =>
    bytes === null ? null : bytes / MIB,
  ),
];

function ratio(above: RowName, below: RowName): (round: Round) => number | null {
  return round => {
    const a = round[above]?.requestsPerS;
    const b = round[below]?.requestsPerS;
    return a === undefined || b === undefined ? null : a / b;
  };
}

/** Of processor time for each request. On a busy machine groups of writes are smaller, so each write costs more. */
function cpuRatio(above: RowName, below: RowName): (round: Round) => number | null {
  return round => {
    const [a, b] = [round[above]?.cpuUs, round[below]?.cpuUs];
    if (a === undefined || a === null || b === undefined || b === null) return null;
    return (a.router + a.worker + a.other) / (b.router + b.worker + b.other);
  };
}

function least(what: string, wanted: number, measured: Target['measured']): Target {
  return {measured, judged: value => atLeast(what, wanted, value)};
}

function most(what: string, wanted: number, unit: string, measured: Target['measured']): Target {
  return {measured, judged: value => atMost(what, wanted, value, unit)};
}
