/** The processes of this machine, as the system lists them. One that has ended is in no list and has no text. */
import {readdirSync, readFileSync} from 'node:fs';

/** Zombies are not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // no such process
  }
  return /^[^Z] /.test(stateOf(pid));
}

/** SIGKILL, also for one that has ended. */
export function killHard(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ESRCH') throw caught; // it has ended meanwhile
  }
}

export function allProcesses(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** In the order of their numbers. */
export function childrenOf(pid: number): number[] {
  return allProcesses()
    .filter(child => Number(stateOf(child).split(' ')[1]) === pid)
    .sort((a, b) => a - b);
}

/** With zero bytes between the words. */
export function commandLine(pid: number): string {
  return textOf(pid, 'cmdline');
}

/** The number of the user that it has become. */
export function userOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(textOf(pid, 'status'))?.[1]);
}

/** What it has computed. */
export function cpuMsOf(pid: number): number {
  const fields = stateOf(pid).split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** What follows the name of its program: its state, its parent and so on. */
function stateOf(pid: number): string {
  const stat = textOf(pid, 'stat');
  return stat.slice(stat.lastIndexOf(') ') + 2);
}

function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it has ended
  }
}
