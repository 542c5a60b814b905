/**
 * One Node process of a deployment: how it is confined, what it takes, and its end.
 *
 *   starting ──ready──▶ serving ──retire()──▶ retiring ──its last call has ended──▶ ended
 *       └──late | ended by itself | too much memory | computes too long | kill()──▶ ended   (from every state)
 *
 * It runs under Node's permission model: it reads the directory of its code and writes nowhere, starts no processes or
 * threads and loads no native code. It gets none of our environment. It ends with its worker: the kernel kills it where
 * `setpriv` can ask for that, and it ends itself when the pipe to the worker closes.
 */

import type {Buffer} from 'node:buffer';
import {type ChildProcess, spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import type {Socket} from 'node:net';
import {join} from 'node:path';
import type {EgressDoor} from '../../../shared/ipc/egress.ts';
import {
  ACTION_CPU_MS_MAX,
  LAST_WORDS_CHARS,
  NODE_HEAP_MB,
  NODE_LOOK_MS,
  NODE_PROCESS_BYTES_MAX,
  NODE_START_MS_MAX,
  NODE_STDERR_PIECES_MAX,
  NODE_UNREAD_BYTES_MAX,
} from '../../../shared/limits.ts';
import {FROZEN_FLAGS} from '../../../shared/node-flags.ts';
import type {NodeVersion} from '../../../shared/node-version.ts';
import {firstToGo, ownBytes} from '../../../shared/own-memory.ts';
import {Hearing} from '../../runtime/process/hearing.ts';
import type {Lifeline} from '../../runtime/process/lifeline.ts';
import {OUT_OF_MEMORY, timedOut} from '../actions/action-outcome.ts';
import {NODE_MAIN} from './code-directory.ts';
import {type Framed, FrameReader, type FromNode, frame, type ToNode} from './node-message.ts';

export type NodeCode = {
  version: NodeVersion;
  /** The executable. */
  binary: string;
  /** The directory of the code, with a slash at its end. */
  root: string;
};

export type NodeProcessOptions = {
  code: NodeCode;
  env: Readonly<Record<string, string>>;
  /** Null: no network. */
  egress: EgressDoor | null;
  lifeline: Lifeline;
  heapMb?: number;
  bytesMax?: number;
  cpuMsMax?: number;
  lookMs?: number;
};

export type NodeEnd = {
  cause: 'told' | 'memory' | 'time' | 'crash' | 'start';
  /** For the author of the code. */
  message: string;
};

export type NodeProcessEvents = {
  onReady(): void;
  /** It has answered a look: no code of it computes at this moment. */
  onAlive(): void;
  onMessage(message: Framed<Exclude<FromNode, {type: 'ready' | 'alive'}>>): void;
  /** Once. */
  onEnd(end: NodeEnd): void;
};

/** Ticks of the kernel's clock for processes, on every Linux that Node runs on. */
const TICK_MS = 10;

/** They must not keep a worker from ending. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export class NodeProcess {
  readonly pid: number | undefined;
  readonly #child: ChildProcess;
  /** Null: it did not come to be, as there was no descriptor left. */
  readonly #channel: Socket | null;
  readonly #options: NodeProcessOptions;
  readonly #events: NodeProcessEvents;
  readonly #frames = new FrameReader();
  readonly #late: NodeJS.Timeout;
  #looks: NodeJS.Timeout | null = null;
  #nextLook: NodeJS.Timeout | null = null;
  #isReady = false;
  #end: NodeEnd | null = null;
  #isOver = false;
  #lastWords = '';
  /** Looks that it has not answered. */
  #asked = 0;
  /** Its CPU when it last answered. */
  #cpuAtAliveMs = 0;

  constructor(options: NodeProcessOptions, events: NodeProcessEvents) {
    this.#options = options;
    this.#events = events;
    const {code, lifeline} = options;
    const [command, ...args] = [...lifeline.command, code.binary, ...nodeArguments(code, options.heapMb)];
    this.#child = spawn(command!, args, {
      // Not in the process group of the server: Ctrl-C is for the supervisor to answer.
      detached: true,
      cwd: code.root,
      env: {TZ: 'UTC'},
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.#child.on('error', error => this.#over({cause: 'start', message: error.message}));
    this.#child.on('close', (exitCode, signal) => this.#over(this.#endOf(exitCode, signal)));
    this.pid = this.#child.pid;
    // Without a descriptor left Node makes none of its streams, and tells the error in the next turn.
    const streams = this.#child as {stdio?: ChildProcess['stdio']; stderr?: ChildProcess['stderr']};
    this.#channel = (streams.stdio?.[3] ?? null) as Socket | null;
    this.#channel?.on('data', piece => this.#received(piece as Buffer));
    // Its end is told elsewhere.
    this.#channel?.on('error', () => undefined);
    const said = new Hearing(
      isHeard => void (isHeard ? streams.stderr?.resume() : streams.stderr?.pause()),
      NODE_STDERR_PIECES_MAX,
    );
    streams.stderr?.on('data', (piece: Buffer) => {
      // The end of it is all that can be kept.
      this.#lastWords = (
        this.#lastWords + piece.toString('utf8', Math.max(0, piece.length - 4 * LAST_WORDS_CHARS))
      ).slice(-LAST_WORDS_CHARS);
      said.count();
    });
    streams.stderr?.on('close', () => said.end());
    // What it wrote before its end is said on the way to it.
    this.#child.on('exit', () => streams.stderr?.resume());
    this.#late = setTimeout(() => this.kill({cause: 'start', message: 'it was not ready in time'}), NODE_START_MS_MAX);
    living.add(this.#child);
    firstToGo(this.pid);
    this.send({type: 'open', root: code.root, env: options.env, egress: options.egress});
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isOver;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Without mapped files; 0: it has ended. */
  get bytes(): number {
    return this.pid === undefined || this.#isOver ? 0 : (ownBytes(this.pid) ?? 0);
  }

  /** What it has computed. 0: it has ended, or the system does not say. */
  get cpuMs(): number {
    return cpuMs(this.pid);
  }

  /**
   * Nothing of it runs until it is to go on. @returns false where that cannot be: what nothing but its pipe ties to its worker would
   * never end then
   */
  rest(isResting: boolean): boolean {
    return this.#options.lifeline.command.length > 0 && this.#child.kill(isResting ? 'SIGSTOP' : 'SIGCONT');
  }

  send(message: ToNode, text = ''): void {
    if (message.type === 'look') this.#asked++;
    if (this.#channel?.writable !== true) return;
    this.#channel.write(frame({...message, text}));
    // It asks, and reads no answer: what it asks for would be kept here for as long as it lives.
    if (this.#channel.writableLength > NODE_UNREAD_BYTES_MAX)
      this.kill({cause: 'crash', message: 'The Node process did not read what it asked for'});
  }

  /** While it has calls: whether it takes too much. */
  watch(isWatched: boolean): void {
    if (!isWatched || this.#isOver) {
      if (this.#looks !== null) clearInterval(this.#looks);
      this.#looks = null;
      return;
    }
    if (this.#looks !== null) return;
    this.#cpuAtAliveMs = cpuMs(this.pid);
    this.send({type: 'look'});
    this.#looks = setInterval(() => this.#look(), this.#lookMs);
  }

  /** What it says waits, until it is heard again. */
  hear(isHeard: boolean): void {
    if (isHeard) this.#channel?.resume();
    else this.#channel?.pause();
  }

  get #lookMs(): number {
    return this.#options.lookMs ?? NODE_LOOK_MS;
  }

  kill(end: NodeEnd): void {
    this.#end ??= end;
    this.#child.kill('SIGKILL');
  }

  /** Its code has written to the pipe itself. */
  saidNonsense(): void {
    this.kill({cause: 'crash', message: 'The Node process said what nobody understands'});
  }

  #look(): void {
    const {bytesMax = NODE_PROCESS_BYTES_MAX, cpuMsMax = ACTION_CPU_MS_MAX} = this.#options;
    if (this.bytes > bytesMax) this.kill({cause: 'memory', message: OUT_OF_MEMORY});
    else if (cpuMs(this.pid) - this.#cpuAtAliveMs > cpuMsMax)
      this.kill({cause: 'time', message: timedOut('CPU time', cpuMsMax)});
  }

  #received(piece: Buffer): void {
    const frames = this.#frames.push(piece);
    if (frames === null) {
      this.saidNonsense();
      return;
    }
    for (const message of frames as Framed<FromNode>[]) {
      if (message.type === 'ready') this.#ready();
      else if (message.type === 'alive') this.#alive();
      else this.#events.onMessage(message);
    }
  }

  #ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    clearTimeout(this.#late);
    this.#events.onReady();
  }

  #alive(): void {
    // Each takes a look at its processor time.
    if (this.#asked === 0) {
      this.saidNonsense();
      return;
    }
    this.#asked--;
    this.#cpuAtAliveMs = cpuMs(this.pid);
    this.#events.onAlive();
    this.#nextLook ??= setTimeout(() => {
      this.#nextLook = null;
      if (this.#looks !== null) this.send({type: 'look'});
    }, this.#lookMs).unref();
  }

  #endOf(exitCode: number | null, signal: NodeJS.Signals | null): NodeEnd {
    if (this.#end !== null) return this.#end;
    if (!this.#isReady)
      return {cause: 'start', message: this.#lastWords.trim() || `it ended with ${signal ?? exitCode}`};
    if (this.#lastWords.includes('heap out of memory')) return {cause: 'memory', message: OUT_OF_MEMORY};
    const how = signal === null ? `exit code ${exitCode}` : signal;
    return {cause: 'crash', message: `The Node process ended (${how})`};
  }

  #over(end: NodeEnd): void {
    if (this.#isOver) return;
    this.watch(false);
    this.#isOver = true;
    clearTimeout(this.#late);
    living.delete(this.#child);
    this.#channel?.destroy();
    this.#events.onEnd(end);
  }
}

function nodeArguments({version, root}: NodeCode, heapMb = NODE_HEAP_MB): string[] {
  return [
    ...FROZEN_FLAGS,
    version === '20' ? '--experimental-permission' : '--permission',
    // Its own permission is about all or nothing; child-egress.ts has the policy.
    ...(version === '26' ? ['--allow-net'] : []),
    // One path and no other: Node 20 takes what several have in common for one of them.
    `--allow-fs-read=${root}`,
    `--max-old-space-size=${heapMb}`,
    '--no-warnings',
    join(root, NODE_MAIN),
  ];
}

/** What the process has computed. 0: it has ended, or the system does not say. */
function cpuMs(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}
