/** The processes of query and action isolates beside a worker, as the system lists them. */
import {readdirSync, readFileSync} from 'node:fs';

/** Those of this worker, the one that was started first at the front. */
export function isolateProcesses(worker: number): number[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids
    .map(Number)
    .filter(pid => isIsolates(pid) && parentOf(pid) === worker)
    .sort((a, b) => a - b);
}

function isIsolates(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`).includes('isolates.js');
}

/** What it has computed. */
export function cpuMsOf(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function parentOf(pid: number): number {
  return Number(read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1]);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it has ended
  }
}
