/** The design's targets that concern HTTP, each as a ratio (or figure) of one run. */
import type {WakeResult} from './peers/svc/wake.ts';
import type {Round} from './round.ts';
import type {RowName} from './rows.ts';

export type Target = {
  what: string;
  /** Of one round; null when a side was not measured. */
  measured: (round: Round, wake: WakeResult) => number | null;
  wanted: number;
  isMet: 'at least' | 'at most';
  unit: string;
};

const MIB = 1024 * 1024;

export const TARGETS: readonly Target[] = [
  atLeast('get by id / raw uWebSockets.js', 0.45, ratio('svc get 1 tenant', 'uws static')),
  atLeast('get by id / one process by hand', 1, ratio('svc get 1 tenant', 'hand get')),
  atLeast('get by id / PocketBase', 20, ratio('svc get 1 tenant', 'pocketbase get')),
  atLeast('durable insert / one process by hand', 0.85, ratio('svc insert 1 tenant', 'hand insert')),
  atMost(
    'processor time of a durable insert / one process by hand',
    2,
    '',
    cpuRatio('svc insert 1 tenant', 'hand insert'),
  ),
  atMost(
    'processor time of a lone insert / one process by hand',
    2,
    '',
    cpuRatio('svc lone-insert', 'hand lone-insert'),
  ),
  atLeast('lone insert / one process by hand', 0.5, ratio('svc lone-insert', 'hand lone-insert')),
  atLeast('durable insert / PocketBase (no fsync)', 10, ratio('svc insert 1 tenant', 'pocketbase insert')),
  atLeast(
    'indexed query / own get that the worker answers',
    0.5,
    ratio('svc query 1 tenant', 'svc worker-get 1 tenant'),
  ),
  atLeast('indexed query / one process by hand', 1.5, ratio('svc query 1 tenant', 'hand query')),
  atLeast('the same of more documents than caches hold', 0.8, ratio('svc wide-query', 'hand wide-query')),
  atLeast('get by id / the build before', 0.95, ratio('svc get 1 tenant', 'before get')),
  atLeast(
    'get that the worker answers / the build before',
    0.95,
    ratio('svc worker-get 1 tenant', 'before worker-get'),
  ),
  atLeast('durable insert / the build before', 0.95, ratio('svc insert 1 tenant', 'before insert')),
  atLeast('indexed query / the build before', 0.95, ratio('svc query 1 tenant', 'before query')),
  atMost('cold wake / bare node start', 1.5, '', (_, {coldMs, bareNodeMs}) => coldMs / bareNodeMs),
  atMost('wake with a spare worker', 15, ' ms', (_, {spareMs}) => spareMs),
  atMost('private dirty memory of an idle tenant', 20, ' MiB', (_, {idlePrivateDirtyBytes: bytes}) =>
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

function atLeast(what: string, wanted: number, measured: Target['measured']): Target {
  return {what, measured, wanted, isMet: 'at least', unit: ''};
}

function atMost(what: string, wanted: number, unit: string, measured: Target['measured']): Target {
  return {what, measured, wanted, isMet: 'at most', unit};
}
