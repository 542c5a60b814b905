/**
 * Resource use of the server's processes by kind: present memory, and CPU time since the last poll. It is read from
 * /proc; on systems other than Linux everything is 0.
 *
 * Children of the supervisor are identified by pid. Their descendants are found by parent, and their kind by the script
 * that they run. Code that has escaped its isolate can change that name, but only moves its own figures to another
 * kind.
 */
import {Buffer} from 'node:buffer';
import {type FileHandle, open, readdir} from 'node:fs/promises';
import {basename} from 'node:path';
import {ownBytes} from '../../shared/own-memory.ts';
import {PROCESS_KINDS, type ProcessKind} from '../../shared/process-kinds.ts';
import {COMMAND_BYTES_READ, COMMANDS_READ_AT_ONCE} from '../limits.ts';
import {countsOf, type ProcessCounts} from './process-probe.ts';

/** Scripts that workers start. */
const SCRIPTS: ReadonlyMap<string, ProcessKind> = new Map([
  ['isolates.js', 'isolates'],
  ['node-child.js', 'node'],
  ['sandboxes.js', 'sandbox'],
  ['analysis.js', 'analysis'],
]);

export type Use = {count: number; residentBytes: number; privateBytes: number; cpuMs: number};
export type UseByKind = Record<ProcessKind, Use>;

/** `kind`: null until the command line is read. */
type Seen = {cpuMs: number; kind: ProcessKind | null};

export class ProcessUse {
  readonly #root: number;
  /** By pid and start time, so that a reused pid counts as another process. */
  #seen = new Map<string, Seen>();
  #reading = 0;

  /** @param root the process that is measured, with all its descendants */
  constructor(root = process.pid) {
    this.#root = root;
  }

  /**
   * Does not include CPU time that a process used between the last poll and its end.
   * @param children of the root, by pid
   */
  async poll(children: ReadonlyMap<number, ProcessKind>): Promise<UseByKind> {
    const use = Object.fromEntries(
      PROCESS_KINDS.map(kind => [kind, {count: 0, residentBytes: 0, privateBytes: 0, cpuMs: 0}]),
    ) as UseByKind;
    const now = new Map<string, Seen>();
    const unnamed: [pid: number, seen: Seen][] = [];
    for (const {pid, startTicks, cpuMs, residentBytes} of await processesFrom(this.#root)) {
      const key = `${pid} ${startTicks}`;
      const seen = this.#seen.get(key) ?? {cpuMs: 0, kind: null};
      now.set(key, seen);
      const known = pid === this.#root ? 'supervisor' : children.get(pid);
      seen.kind = known ?? seen.kind;
      if (known === undefined && (seen.kind === null || seen.kind === 'other')) unnamed.push([pid, seen]);
      const ofKind = use[seen.kind ?? 'other'];
      ofKind.count++;
      ofKind.residentBytes += residentBytes;
      ofKind.privateBytes += ownBytes(pid) ?? 0;
      if (seen.kind === null) continue; // It is counted in full once its kind is known.
      ofKind.cpuMs += Math.max(0, cpuMs - seen.cpuMs);
      seen.cpuMs = cpuMs;
    }
    this.#seen = now;
    // Not awaited, because the kernel can block a reader of a command line until the process responds.
    for (const [pid, seen] of unnamed) void this.#name(pid, seen);
    return use;
  }

  async #name(pid: number, seen: Seen): Promise<void> {
    if (this.#reading >= COMMANDS_READ_AT_ONCE) return;
    this.#reading++;
    const kind = await kindOf(pid);
    this.#reading--;
    seen.kind = kind ?? seen.kind;
  }
}

/** A process and all its descendants. */
async function processesFrom(root: number): Promise<ProcessCounts[]> {
  const found: ProcessCounts[] = [];
  const byParent = new Map<number, ProcessCounts[]>();
  const names = await readdir('/proc').catch(() => []); // not Linux
  for (const name of names) {
    const figures = /^\d+$/.test(name) ? countsOf(Number(name)) : null;
    if (figures === null) continue;
    if (figures.pid === root) {
      found.push(figures);
      continue;
    }
    const siblings = byParent.get(figures.parent);
    if (siblings === undefined) byParent.set(figures.parent, [figures]);
    else siblings.push(figures);
  }
  for (const {pid} of found) {
    found.push(...(byParent.get(pid) ?? []));
    byParent.delete(pid); // Prevents a cycle if a pid was reused during the scan.
  }
  return found;
}

/** Determined by the script in the command line; null: the process has ended. */
async function kindOf(pid: number): Promise<ProcessKind | null> {
  let file: FileHandle | null = null;
  try {
    file = await open(`/proc/${pid}/cmdline`);
    const {buffer, bytesRead} = await file.read(Buffer.alloc(COMMAND_BYTES_READ));
    const args = buffer.toString('utf8', 0, bytesRead).split('\0');
    const script = args.find(arg => SCRIPTS.has(basename(arg)));
    return script === undefined ? 'other' : SCRIPTS.get(basename(script))!;
  } catch {
    return null;
  } finally {
    await file?.close();
  }
}
