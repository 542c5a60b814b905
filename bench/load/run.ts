/** Runs one job with the chosen load generator and measures what it and the servers took of the processors meanwhile. */
import {fork, spawn} from 'node:child_process';
import {once} from 'node:events';
import {cpus} from 'node:os';
import {join} from 'node:path';
import {type CpuTimes, cpuBetween, cpuLook, cpuSeconds, cpuUsEach} from '../measure/process-tree.ts';
import type {LoadJob, LoadResult} from './job.ts';
import {wrkFiles, wrkResult} from './wrk.ts';

export const GENERATORS = ['wrk', 'node'] as const;
export type Generator = (typeof GENERATORS)[number];

/**
 * `cpu`: processor time a second, so 1 is one processor used up. `cpuUs`: microseconds of it for each request, which hold on a
 * machine that does other things too. Null where the system does not tell. `idleCpus`: processors that did nothing meanwhile, of
 * all that the machine has.
 */
export type Measurement = LoadResult & {
  generatorCpu: number | null;
  serverCpu: number | null;
  cpuUs: CpuTimes | null;
  idleCpus: number;
};

/** @param serverPid the process whose tree is the server */
export async function runLoad(generator: Generator, job: LoadJob, serverPid: number): Promise<Measurement> {
  const [idleBeforeMs, startedMs] = [idleMs(), performance.now()];
  const before = cpuLook(serverPid);
  const {result, cpuS} = generator === 'wrk' ? await runWrk(job) : await runNode(job);
  const after = cpuLook(serverPid);
  const idleCpus = (idleMs() - idleBeforeMs) / (performance.now() - startedMs);
  const taken = cpuBetween(before, after);
  return {
    ...result,
    generatorCpu: cpuS === null ? null : cpuS / job.seconds,
    serverCpu: taken === null ? null : (taken.router + taken.worker + taken.other) / job.seconds,
    cpuUs: cpuUsEach(before, after, result.requestsPerS * job.seconds),
    idleCpus,
  };
}

function idleMs(): number {
  return cpus().reduce((sum, {times}) => sum + times.idle, 0);
}

type Run = {result: LoadResult; cpuS: number | null};

async function runNode(job: LoadJob): Promise<Run> {
  const child = fork(join(import.meta.dirname, 'main.ts'), {
    execArgv: ['--experimental-strip-types', '--no-warnings'],
  });
  const ended = once(child, 'exit');
  const answered = once(child, 'message') as Promise<[LoadResult]>;
  // The start of the process is no part of the load.
  const before = cpuSeconds(child.pid!);
  child.send(job);
  const watch = cpuWatch(child.pid!);
  const outcome = await Promise.race([answered, ended.then(() => null)]);
  watch.stop();
  if (outcome === null) throw new Error('the load generator ended without a result');
  await ended;
  return {result: outcome[0], cpuS: watch.latest === null || before === null ? null : watch.latest - before};
}

async function runWrk(job: LoadJob): Promise<Run> {
  const files = wrkFiles(job);
  try {
    const child = spawn('wrk', files.args, {stdio: ['ignore', 'pipe', 'inherit']});
    const watch = cpuWatch(child.pid ?? 0);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await once(child, 'close');
    watch.stop();
    return {result: wrkResult(output), cpuS: watch.latest};
  } finally {
    files.remove();
  }
}

const WATCH_INTERVAL_MS = 50;

/** A process that has ended tells nothing any more, so it is asked while it runs. */
function cpuWatch(pid: number): {readonly latest: number | null; stop(): void} {
  const watch = {
    latest: cpuSeconds(pid),
    stop: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    watch.latest = cpuSeconds(pid) ?? watch.latest;
  }, WATCH_INTERVAL_MS);
  return watch;
}
