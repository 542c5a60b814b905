/**
 * One Node process of a deployment: its confinement, its resource use, and its end.
 *
 *   starting ──ready──▶ serving ──retire()──▶ retiring ──its last call has ended──▶ ended
 *       └──late | ended by itself | too much memory | computes too long | kill()──▶ ended   (from every state)
 *
 * It runs under Node's permission model: it can read the directory of its code, but cannot write files, start processes
 * or threads, or load native code. runtime/process/confined-process.ts starts and ends it.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {FROZEN_FLAGS} from '../../../shared/node-flags.ts';
import type {NodeVersion} from '../../../shared/node-version.ts';
import {OUT_OF_MEMORY, timedOut} from '../actions/action-outcome.ts';
import {
  ACTION_CPU_MS_MAX,
  NODE_FRAME_BYTES_MAX,
  NODE_HEAP_MB,
  NODE_POLL_MS,
  NODE_PROCESS_BYTES_MAX,
  NODE_START_MS_MAX,
  NODE_UNREAD_BYTES_MAX,
} from '../limits.ts';
import {ConfinedProcess, type ProcessEnd} from '../process/confined-process.ts';
import {confined, type ParentWatch} from '../process/parent-watch.ts';
import {NODE_MAIN} from './code-directory.ts';
import {checkedFromNode, type Framed, type FromNode, type ToNode} from './node-message.ts';

export type NodeCode = {
  version: NodeVersion;
  /** The executable. */
  binary: string;
  /** The directory of the code, with a trailing slash. */
  root: string;
};

export type NodeProcessOptions = {
  code: NodeCode;
  env: Readonly<Record<string, string>>;
  /** Null: no network. */
  egress: EgressEndpoint | null;
  parentWatch: ParentWatch;
  /** `nice` value relative to its worker. */
  niceness?: number;
  heapMb?: number;
  bytesMax?: number;
  cpuMsMax?: number;
  pollMs?: number;
};

export type NodeEnd = {
  cause: 'told' | 'memory' | 'time' | 'crash' | 'start';
  /** A message for the author of the code. */
  message: string;
};

export type NodeProcessEvents = {
  onReady(): void;
  /** It answered a probe: none of its code blocks the event loop. */
  onAlive(): void;
  onMessage(message: Framed<Exclude<FromNode, {type: 'ready' | 'alive'}>>): void;
  /** Called once. */
  onEnd(end: NodeEnd): void;
};

/** The kernel's clock tick for process times, on every Linux that Node supports. */
const TICK_MS = 10;

export class NodeProcess {
  readonly #process: ConfinedProcess<ToNode, Framed<FromNode>>;
  readonly #options: NodeProcessOptions;
  readonly #events: NodeProcessEvents;
  readonly #pollMs: number;
  #isWatched = false;
  #nextPoll: NodeJS.Timeout | null = null;
  /** Probes that it has not answered. */
  #requested = 0;
  /** CPU time when it last answered, ms. */
  #cpuAtAliveMs = 0;

  constructor(options: NodeProcessOptions, events: NodeProcessEvents) {
    this.#options = options;
    this.#events = events;
    this.#pollMs = options.pollMs ?? NODE_POLL_MS;
    const {code, parentWatch, env, egress, niceness} = options;
    this.#process = new ConfinedProcess(
      {
        command: [code.binary, ...nodeArguments(code, options.heapMb)],
        parentWatch: confined(parentWatch, code.binary, [code.root]),
        env: {TZ: 'UTC'},
        cwd: code.root,
        startMsMax: NODE_START_MS_MAX,
        bytesMax: options.bytesMax ?? NODE_PROCESS_BYTES_MAX,
        pollMs: this.#pollMs,
        pipe: {
          frameBytesMax: NODE_FRAME_BYTES_MAX,
          unreadBytesMax: NODE_UNREAD_BYTES_MAX,
          check: checkedFromNode,
        },
        ...(niceness === undefined ? {} : {niceness}),
      },
      {
        onMessage: message => this.#received(message),
        onPoll: () => this.#poll(),
        onEnd: end => {
          this.#isWatched = false;
          events.onEnd(endOf(end, this.pid === undefined));
        },
      },
    );
    this.send({type: 'open', root: code.root, env, egress});
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get isReady(): boolean {
    return this.#process.isStarted && !this.isOver;
  }

  get isOver(): boolean {
    return this.#process.isOver;
  }

  /** Memory without mapped files; 0: it has ended. */
  get bytes(): number {
    return this.#process.bytes;
  }

  /** CPU time used. 0: it has ended, or the system does not report it. */
  get cpuMs(): number {
    return cpuMs(this.pid);
  }

  /**
   * Stops the process until it is resumed. @returns false if that is not possible: a stopped process that only its pipe
   * ties to its worker would never end
   */
  rest(isResting: boolean): boolean {
    return this.#options.parentWatch.command.length > 0 && this.#process.stop(isResting);
  }

  send(message: ToNode, text = ''): void {
    if (message.type === 'look') this.#requested++;
    this.#process.send(message, text);
  }

  /** While it has calls, checks whether it uses too much. */
  watch(isWatched: boolean): void {
    const begins = isWatched && !this.#isWatched && !this.isOver;
    this.#isWatched = isWatched && !this.isOver;
    this.#process.watch(isWatched);
    if (!begins) return;
    this.#cpuAtAliveMs = this.cpuMs;
    this.send({type: 'look'});
  }

  /** Pauses or resumes reading from it. Unread messages wait in the pipe. */
  hear(isHeard: boolean): void {
    this.#process.hear(isHeard);
  }

  kill({cause, message}: NodeEnd): void {
    this.#process.kill(cause, message);
  }

  /** Called on a protocol violation: its code has written to the pipe itself. */
  violatedProtocol(): void {
    this.#process.kill('malformed', '');
  }

  #poll(): void {
    const {cpuMsMax = ACTION_CPU_MS_MAX} = this.#options;
    if (this.cpuMs - this.#cpuAtAliveMs > cpuMsMax) this.#process.kill('time', timedOut('CPU time', cpuMsMax));
  }

  #received(message: Framed<FromNode>): void {
    if (message.type === 'ready') this.#ready();
    else if (message.type === 'alive') this.#alive();
    else this.#events.onMessage(message);
  }

  #ready(): void {
    if (this.#process.isStarted) return;
    this.#process.started();
    this.#events.onReady();
  }

  #alive(): void {
    // An unrequested `alive` is a protocol violation: each one costs a read of the process's CPU time.
    if (this.#requested === 0) {
      this.violatedProtocol();
      return;
    }
    this.#requested--;
    this.#cpuAtAliveMs = this.cpuMs;
    this.#events.onAlive();
    this.#nextPoll ??= setTimeout(() => {
      this.#nextPoll = null;
      if (this.#isWatched) this.send({type: 'look'});
    }, this.#pollMs).unref();
  }
}

/** @param isUnborn it could not be started */
function endOf({cause, how, isUnexpected, stderrTail}: ProcessEnd, isUnborn: boolean): NodeEnd {
  switch (cause) {
    case 'told':
    case 'time':
      return {cause, message: how};
    case 'memory':
      return {cause, message: OUT_OF_MEMORY};
    case 'malformed':
      return {cause: 'crash', message: 'The Node process violated the protocol'};
    case 'unread':
      return {cause: 'crash', message: 'The Node process did not read what it asked for'};
    case 'start':
      return {
        cause,
        message: (isUnexpected && stderrTail.trim()) || (isUnexpected && !isUnborn ? `it ended with ${how}` : how),
      };
    case 'crash':
    case 'silent':
      if (isUnexpected && stderrTail.includes('heap out of memory')) return {cause: 'memory', message: OUT_OF_MEMORY};
      return {cause: 'crash', message: isUnexpected ? `The Node process ended (${how})` : how};
  }
}

function nodeArguments({version, root}: NodeCode, heapMb = NODE_HEAP_MB): string[] {
  return [
    ...FROZEN_FLAGS,
    version === '20' ? '--experimental-permission' : '--permission',
    // Node's permission is all or nothing; child-egress.ts applies the policy.
    ...(version === '26' ? ['--allow-net'] : []),
    // Exactly one path: Node 20 treats several paths with a common prefix as one.
    `--allow-fs-read=${root}`,
    `--max-old-space-size=${heapMb}`,
    '--no-warnings',
    join(root, NODE_MAIN),
  ];
}

/** CPU time used by the process. 0: it has ended, or the system does not report it. */
function cpuMs(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}
