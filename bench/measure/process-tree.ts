/** Processor time and memory of processes, from /proc. Other systems than Linux tell nothing here: null. */
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

/** What the kernel counts processor time in; 100 on every Linux that Node runs on. */
const TICKS_PER_S = 100;

/** Seconds of processor time that a server's processes have taken; a server of one process is all `other`. */
export type CpuTimes = {router: number; worker: number; other: number};

/** What each process of a tree had taken at a moment, in seconds. */
export type CpuLook = ReadonlyMap<number, {part: keyof CpuTimes; seconds: number}>;

/** Of a process and all its living descendants. */
export function cpuSeconds(pid: number): number | null {
  const look = cpuLook(pid);
  return look === null ? null : [...look.values()].reduce((sum, {seconds}) => sum + seconds, 0);
}

/** At a process and all its living descendants, by what each is of svc. Null: there is no such process. */
export function cpuLook(pid: number): CpuLook | null {
  if (read(`/proc/${pid}/stat`) === null) return null;
  const found = new Map<number, {part: keyof CpuTimes; seconds: number}>();
  for (const each of [pid, ...descendants(pid)]) {
    const fields = statFields(each);
    if (fields === null) continue;
    found.set(each, {part: partOf(each), seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S});
  }
  return found;
}

/** Seconds between two looks. What a process took that ended meanwhile is not known, and left out. Null: unknown. */
export function cpuBetween(before: CpuLook | null, after: CpuLook | null): CpuTimes | null {
  if (before === null || after === null) return null;
  const times: CpuTimes = {router: 0, worker: 0, other: 0};
  for (const [pid, {part, seconds}] of after) times[part] += seconds - (before.get(pid)?.seconds ?? 0);
  return times;
}

/** Microseconds of processor time that each of so many took between two looks; null: unknown. */
export function cpuUsEach(before: CpuLook | null, after: CpuLook | null, count: number): CpuTimes | null {
  const times = cpuBetween(before, after);
  if (times === null) return null;
  const us = (part: keyof CpuTimes): number => (times[part] * 1e6) / Math.max(count, 1);
  return {router: us('router'), worker: us('worker'), other: us('other')};
}

/** Of a process with all its descendants, those that ended and were waited for included. */
export function cpuSecondsWithEnded(pid: number): number | null {
  if (read(`/proc/${pid}/stat`) === null) return null;
  let ticks = 0;
  for (const each of [pid, ...descendants(pid)]) {
    const fields = statFields(each);
    // 16 and 17 are what its children took that it has waited for, theirs included.
    if (fields !== null) for (const at of [11, 12, 13, 14]) ticks += Number(fields[at]);
  }
  return ticks / TICKS_PER_S;
}

/** The fields of a process's stat from the third on. */
function statFields(pid: number): string[] | null {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is a name in parentheses that may hold spaces; 14 and 15 are user and system time.
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function partOf(pid: number): keyof CpuTimes {
  const words = commandLine(pid);
  if (words.some(word => word.endsWith('/router.js'))) return 'router';
  return words.some(word => word.endsWith('/worker.js')) ? 'worker' : 'other';
}

export function descendants(pid: number): number[] {
  const found: number[] = [];
  for (const task of list(`/proc/${pid}/task`)) {
    const children = read(`/proc/${pid}/task/${task}/children`)?.trim() ?? '';
    for (const text of children === '' ? [] : children.split(' ')) {
      const child = Number(text);
      found.push(child, ...descendants(child));
    }
  }
  return found;
}

export function commandLine(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
}

/** Memory that no other process shares. Clean pages can be dropped at any time; dirty ones cannot. */
export function privateBytes(pid: number): {dirty: number; clean: number} | null {
  const rollup = read(`/proc/${pid}/smaps_rollup`);
  if (rollup === null) return null;
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? 0);
  return {dirty: kib('Private_Dirty') * 1024, clean: kib('Private_Clean') * 1024};
}

/** What the descriptors of a process refer to. */
export function openFiles(pid: number): string[] {
  return list(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return []; // it has just been closed
    }
  });
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // The process has ended, or there is no /proc.
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
