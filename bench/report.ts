/** All rounds together: medians, and ratios taken within a round before their median. As a table and as JSON. */
import type {BulkRound} from './bulk/measure.ts';
import {bulkPrinted, bulkTargets} from './bulk/report.ts';
import type {ChurnRound} from './churn/measure.ts';
import {churnPrinted} from './churn/report.ts';
import type {ClusterRound} from './cluster/measure.ts';
import {clusterPrinted, clusterTargets} from './cluster/report.ts';
import type {CopiesRound} from './copies/measure.ts';
import {copiesPrinted, copiesTargets} from './copies/report.ts';
import type {DashboardRound} from './dashboard/measure.ts';
import {dashboardPrinted, dashboardTargets} from './dashboard/report.ts';
import type {FunctionRound} from './functions/measure.ts';
import {functionsPrinted, functionTargets} from './functions/report.ts';
import type {LiveRound} from './live/measure.ts';
import {livePrinted, liveTargets} from './live/report.ts';
import type {Machine} from './measure/machine.ts';
import type {CpuTimes} from './measure/process-tree.ts';
import {median, medianOrNull} from './measure/statistics.ts';
import type {Met} from './measure/target.ts';
import type {WakeResult} from './peers/svc/wake.ts';
import type {Figures, Round} from './round.ts';
import {ROWS, type Row} from './rows.ts';
import type {SandboxRound} from './sandboxes/measure.ts';
import {sandboxesPrinted, sandboxTargets} from './sandboxes/report.ts';
import type {BenchSettings} from './settings.ts';
import {TARGETS} from './targets.ts';
import type {WritesRound} from './writes/measure.ts';
import {writesPrinted, writesTargets} from './writes/report.ts';

export type Results = {
  machine: Machine;
  settings: BenchSettings;
  pocketBaseVersion: string | null;
  /** writes, bulk, live, functions, churn, sandboxes, dashboard, copies, cluster: null when they were left out. */
  rounds: {
    rows: Round;
    wake: WakeResult;
    writes: WritesRound | null;
    bulk: BulkRound | null;
    live: LiveRound | null;
    functions: FunctionRound | null;
    churn: ChurnRound | null;
    sandboxes: SandboxRound | null;
    dashboard: DashboardRound | null;
    copies: CopiesRound | null;
    cluster: ClusterRound | null;
  }[];
};

type RowReport = Row & {
  perS: number;
  lowest: number;
  highest: number;
  p50Ms: number | null;
  p99Ms: number | null;
  serverCpu: number | null;
  /** Microseconds of processor time for each request: all processes, and those of svc. */
  cpuUs: number | null;
  routerUs: number | null;
  workerUs: number | null;
  generatorCpu: number | null;
  /** Processors of the machine that did nothing meanwhile. */
  idleCpus: number | null;
  errors: number;
  /** The generator used (nearly) a whole processor: the server could have done more. */
  generatorIsTheLimit: boolean;
};
export type Report = Omit<Results, 'rounds'> & {
  rows: RowReport[];
  wake: WakeResult;
  writes: string[];
  bulk: string[];
  live: string[];
  functions: string[];
  churn: string[];
  sandboxes: string[];
  dashboard: string[];
  copies: string[];
  cluster: string[];
  targets: Met[];
  rounds: Results['rounds'];
};

const NEARLY_ONE_CPU = 0.95;

export function report(results: Results): Report {
  const {rounds} = results;
  const writes = rounds.flatMap(round => (round.writes === null ? [] : [round.writes]));
  const bulk = rounds.flatMap(round => round.bulk ?? []);
  const live = rounds.flatMap(round => round.live ?? []);
  const functions = rounds.flatMap(round => round.functions ?? []);
  const sandboxes = rounds.flatMap(round => round.sandboxes ?? []);
  const dashboard = rounds.flatMap(round => round.dashboard ?? []);
  const copies = rounds.flatMap(round => round.copies ?? []);
  const cluster = rounds.flatMap(round => round.cluster ?? []);
  return {
    ...results,
    rows: ROWS.flatMap(row => {
      const figures = rounds.flatMap(({rows}) => rows[row.name] ?? []);
      return figures.length === 0 ? [] : rowReport(row, figures);
    }),
    wake: {
      coldMs: median(rounds.map(({wake}) => wake.coldMs)),
      spareMs: median(rounds.map(({wake}) => wake.spareMs)),
      bareNodeMs: median(rounds.map(({wake}) => wake.bareNodeMs)),
      wokenPrivateBytes: medianOrNull(rounds.map(({wake}) => wake.wokenPrivateBytes)),
      idlePrivateDirtyBytes: medianOrNull(rounds.map(({wake}) => wake.idlePrivateDirtyBytes)),
      idlePrivateCleanBytes: medianOrNull(rounds.map(({wake}) => wake.idlePrivateCleanBytes)),
    },
    writes: writesPrinted(writes),
    bulk: bulkPrinted(bulk),
    live: livePrinted(live),
    functions: functionsPrinted(functions),
    churn: churnPrinted(rounds.flatMap(round => round.churn ?? [])),
    sandboxes: sandboxesPrinted(sandboxes),
    dashboard: dashboardPrinted(dashboard),
    copies: copiesPrinted(copies),
    cluster: clusterPrinted(cluster),
    targets: [
      ...TARGETS.flatMap(({measured, judged}) => {
        const value = medianOrNull(rounds.map(({rows, wake}) => measured(rows, wake)));
        return value === null ? [] : judged(value);
      }),
      ...writesTargets(writes),
      ...bulkTargets(bulk),
      ...(live.length === 0 ? [] : liveTargets(live)),
      ...functionTargets(functions),
      ...sandboxTargets(sandboxes),
      ...dashboardTargets(dashboard),
      ...copiesTargets(copies),
      ...clusterTargets(cluster),
    ],
  };
}

export function printed({
  machine,
  settings,
  pocketBaseVersion,
  rows,
  wake,
  writes,
  bulk,
  live,
  functions,
  churn,
  sandboxes,
  dashboard,
  copies,
  cluster,
  targets,
}: Report): string {
  const {cpu, cpus, memoryGiB, system, node, fileSystemType, revision} = machine;
  const lines = [
    `${cpu}, ${cpus} processors, ${memoryGiB} GiB, ${system}, Node ${node}, file system ${fileSystemType}, revision ${revision}`,
    `${settings.rounds} rounds of ${settings.seconds} s, ${settings.connections} connections, load from ${settings.generator}` +
      (pocketBaseVersion === null ? '' : `, PocketBase ${pocketBaseVersion}`),
    '',
    row('', 'per s', 'range', 'p50 ms', 'p99 ms', 'CPU µs', 'router', 'worker', 'server', 'load', 'idle', 'writes'),
    ...rows.map(each =>
      row(
        each.name,
        String(Math.round(each.perS)),
        `${Math.round(each.lowest)}-${Math.round(each.highest)}`,
        fixed(each.p50Ms),
        fixed(each.p99Ms),
        whole(each.cpuUs),
        whole(each.routerUs),
        whole(each.workerUs),
        fixed(each.serverCpu),
        `${fixed(each.generatorCpu)}${each.generatorIsTheLimit ? ' !' : ''}`,
        fixed(each.idleCpus),
        `${each.durability}${each.errors > 0 ? `; ${each.errors} ERRORS` : ''}`,
      ),
    ),
    '',
    'CPU µs: processor time for each request, of all processes of the server; of svc its router and worker beside it',
    'server, load: processors used, by the server with all its processes and by the load generator; idle: used by nothing;',
    '! the load generator used a whole processor, so the server may be able to do more',
    '',
    `first response of a sleeping tenant: ${wake.coldMs.toFixed(1)} ms; with a spare worker ${wake.spareMs.toFixed(1)} ms`,
    `node --no-node-snapshot -e 0: ${wake.bareNodeMs.toFixed(1)} ms`,
    `private memory of an idle tenant's worker: ${mib(wake.idlePrivateDirtyBytes)} dirty, ${mib(wake.idlePrivateCleanBytes)} clean; ${mib(wake.wokenPrivateBytes)} just after its wake`,
    '',
    ...writes,
    '',
    ...bulk,
    '',
    ...live,
    '',
    ...functions,
    '',
    ...churn,
    '',
    ...sandboxes,
    '',
    ...dashboard,
    '',
    ...copies,
    '',
    ...cluster,
    '',
    ...targets.map(
      ({what, measured, wanted, isMet}) =>
        `${isMet ? 'ok    ' : 'MISSED'} ${what.padEnd(42)} ${measured.toFixed(2).padStart(7)}  (${wanted})`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function rowReport(definition: Row, figures: Figures[]): RowReport {
  const rates = figures.map(each => each.requestsPerS);
  const of = (key: 'p50Ms' | 'p99Ms' | 'serverCpu' | 'generatorCpu' | 'idleCpus'): number | null =>
    medianOrNull(figures.map(each => each[key] ?? null));
  const generatorCpu = of('generatorCpu');
  const us = (part: (times: CpuTimes) => number): number | null =>
    medianOrNull(figures.map(({cpuUs}) => (cpuUs == null ? null : part(cpuUs))));
  const isSvc = /^(svc|before|2-routers) /.test(definition.name);
  return {
    ...definition,
    perS: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    serverCpu: of('serverCpu'),
    cpuUs: us(({router, worker, other}) => router + worker + other),
    routerUs: isSvc ? us(({router}) => router) : null,
    workerUs: isSvc ? us(({worker}) => worker) : null,
    generatorCpu,
    idleCpus: of('idleCpus'),
    errors: figures.reduce((sum, each) => sum + (each.errors ?? 0), 0),
    generatorIsTheLimit: generatorCpu !== null && generatorCpu >= NEARLY_ONE_CPU,
  };
}

const WIDTHS = [24, 8, 14, 8, 8, 7, 7, 7, 7, 7, 7];

function row(name: string, ...cells: string[]): string {
  const last = cells.length - 1;
  return [
    name.padEnd(WIDTHS[0]!),
    ...cells.map((cell, i) => (i === last ? ` ${cell}` : cell.padStart(WIDTHS[i + 1]!))),
  ].join(' ');
}

function whole(value: number | null): string {
  return value === null ? '' : value.toFixed(0);
}

function fixed(value: number | null): string {
  return value === null ? '' : value.toFixed(2);
}

function mib(bytes: number | null): string {
  return bytes === null ? 'unknown' : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
