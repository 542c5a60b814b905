/**
 * One child process: its channel, its output, its heartbeat, its memory, its end. The channel is also its lifeline (see shared/ipc/control.ts).
 *
 * A child has a session of its own: it shares no terminal with this process, so it cannot type into one, and a Ctrl-C is for this
 * process to answer.
 *
 * A child counts as ended when the process is gone and its channel and its output are read to the end, so that a last message,
 * such as `closed`, is never overtaken by the exit. Silence is counted in our own ticks: when this process was stopped for a while,
 * no child is blamed for it. What silence means is decided in `watch.ts`, and how many may be killed for it in `kill-pace.ts`.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import type {Socket} from 'node:net';
import {join, resolve} from 'node:path';
import {HEARTBEAT_INTERVAL_MS, PROCESS_BYTES_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {NODE_VERSIONS} from '../../shared/node-version.ts';
import {ownBytes} from '../../shared/own-memory.ts';
import {CHANNEL_END_MS, HEARTBEAT_TIMEOUT_MS, SILENCE_MS_MAX, STARTUP_TIMEOUT_MS} from '../limits.ts';
import {CHANNEL_ENVIRONMENT, CHANNEL_FD, Channel} from './channel.ts';
import {type ChildKind, ChildOutput} from './child-output.ts';
import type {KillPace} from './kill-pace.ts';
import {lookAt, type ProcessLook} from './process-look.ts';
import {HEARD, type Watch, type WatchLimits, watch} from './watch.ts';

export type ChildEnd = {code: number | null; signal: NodeJS.Signals | null};

export type ChildOptions<Received> = {
  kind: ChildKind;
  /** The tenant that it has by now. */
  tenant?: () => string | undefined;
  /** What stands before the executable (confinement/confinement.ts). */
  confinement?: readonly string[];
  /** Node; unless given, ours. */
  executable?: string;
  /** The bundle to run. */
  entry: string;
  /** What it is told with its start. */
  args?: readonly string[];
  nodeFlags: readonly string[];
  env: Record<string, string>;
  log: Logger;
  /** What a child may say; null: this is nothing of it. Unless given, what it says is believed. */
  messageIn?: (said: {type: string}) => Received | null;
  onMessage: (message: Received) => void;
  /** Once, whatever way it ended; also when it could not be started. */
  onEnd: (end: ChildEnd) => void;
  /** It is killed for what it does, not because it is told to end. */
  onKill?: (reason: KillReason) => void;
  /** The pace of kills that this child shares with others. */
  pace: KillPace;
  /** For tests. */
  limits?: WatchLimits;
  look?: (pid: number) => ProcessLook | null;
};

/** `nonsense`: it says what no child of ours says. */
export const KILL_REASONS = ['hung', 'memory', 'nonsense'] as const;
export type KillReason = (typeof KILL_REASONS)[number];

const LIMITS: WatchLimits = {
  tickMs: HEARTBEAT_INTERVAL_MS,
  servingMs: HEARTBEAT_TIMEOUT_MS,
  startingMs: STARTUP_TIMEOUT_MS,
  silenceMs: SILENCE_MS_MAX,
};

export class Child<Sent extends object, Received extends {type: string}> {
  readonly pid: number | undefined;
  readonly #process: ChildProcess;
  /** Null: it did not come to be, as there was no descriptor left. */
  readonly #channel: Channel | null;
  #isConnected: boolean;
  readonly #output: ChildOutput;
  readonly #options: ChildOptions<Received>;
  readonly #limits: WatchLimits;
  #wasHeard = false;
  #watch: Watch = HEARD;
  #isStarting = true;
  #isKilled = false;
  #isDisbelieved = false;
  /** It hangs and was not killed yet, because too many others were: said once. */
  #isSpared = false;
  readonly #ticks: NodeJS.Timeout;
  #killTimer: NodeJS.Timeout | null = null;
  #exit: ChildEnd | null = null;
  #hasEnded = false;

  constructor(options: ChildOptions<Received>) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
    const node = [options.executable ?? process.execPath, ...options.nodeFlags, options.entry, ...(options.args ?? [])];
    const [command, ...args] = [...(options.confinement ?? []), ...node];
    const child = spawn(command!, args, {
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      // Its lines are read here, and formatted here.
      env: {...options.env, SVC_LOG_FORMAT: 'json', ...CHANNEL_ENVIRONMENT},
    });
    this.#process = child;
    this.pid = child.pid;
    const stdio = (child.stdio ?? []) as unknown as (Socket | null | undefined)[];
    const socket = stdio[CHANNEL_FD] ?? null;
    const label = () => ({process: options.kind, pid: child.pid, tenant: options.tenant?.()});
    const streams = stdio.slice(1, CHANNEL_FD).filter(stream => stream != null);
    this.#output = new ChildOutput(streams, options.log, label, () => this.#endIfRead());
    this.#isConnected = socket !== null;
    this.#channel =
      socket === null
        ? null
        : new Channel(socket, {
            message: message => this.#received(message),
            nonsense: why => this.disbelieve(why),
            closed: () => this.#disconnected(),
          });
    child.on('error', error => {
      options.log.error('a child process failed', {pid: child.pid, error});
      if (child.pid === undefined) this.#end({code: null, signal: null});
    });
    child.on('exit', (code, signal) => this.#exited({code, signal}));
    this.#ticks = setInterval(() => this.#tick(), this.#limits.tickMs);
  }

  /** From now on it does work in one piece, as it does when it has just been started: it may be silent for longer. */
  starts(): void {
    this.#isStarting = true;
  }

  /** It has started. */
  serves(): void {
    this.#isStarting = false;
  }

  /** Messages to a process that is ending are lost, as they are on any wire: its end is reported anyway. */
  send(message: Sent): void {
    this.#channel?.send(message, error => {
      this.#options.log.debug('a message to an ending child was lost', {pid: this.pid, error});
    });
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Kills it unless it has ended by then. */
  killAfter(ms: number): void {
    if (this.#hasEnded) return;
    this.#killTimer ??= setTimeout(() => {
      this.#options.log.warn('a child process did not end in time and is killed', {pid: this.pid, ms});
      this.kill();
    }, ms);
  }

  /** It says, here or to another of our processes, what none of ours says: it is killed, and no word of it is taken any more. */
  disbelieve(why: string): void {
    this.#isDisbelieved = true;
    if (this.#isKilled || this.#hasEnded) return;
    this.#options.log.error('a child process says what none of ours says, and is killed', {pid: this.pid, why});
    this.#killFor('nonsense');
  }

  #received(said: object): void {
    const {messageIn} = this.#options;
    if (this.#isDisbelieved) return;
    const message = !isTyped(said) ? null : messageIn === undefined ? (said as Received) : messageIn(said);
    if (message === null) {
      this.disbelieve('it says what is no message of its kind');
      return;
    }
    this.#wasHeard = true;
    if (message.type !== 'heartbeat' && !this.#hasEnded) this.#options.onMessage(message);
  }

  #disconnected(): void {
    this.#isConnected = false;
    if (this.#exit === null)
      this.killAfter(CHANNEL_END_MS); // Without its channel it has to end by itself.
    else this.#endIfRead();
  }

  #tick(): void {
    const heard = this.#wasHeard;
    this.#wasHeard = false;
    if (this.#isKilled || this.pid === undefined) return;
    this.#watchMemory(this.pid);
    const look = heard ? null : (this.#options.look ?? lookAt)(this.pid);
    this.#watch = watch(this.#watch, {heard, look, isStarting: this.#isStarting}, this.#limits);
    if (this.#watch.state === 'hung') this.#endHung(this.#watch);
    else this.#isSpared = false;
  }

  #endHung({silentMs, ownMs, seen}: Extract<Watch, {state: 'hung'}>): void {
    const fields = {pid: this.pid, starting: this.#isStarting, silentMs, ownMs, doing: seen?.doing};
    if (this.#options.pace.take()) {
      this.#options.log.error('a child process gives no sign of life and is killed', fields);
      this.#killFor('hung');
      return;
    }
    if (this.#isSpared) return;
    this.#isSpared = true;
    this.#options.log.error('a child process hangs; it is killed later, because too many just were', fields);
  }

  /** A process that takes all of the machine's memory takes it from everyone: it is ended while the others can go on. */
  #watchMemory(pid: number): void {
    const bytes = ownBytes(pid);
    if (bytes === null || bytes <= PROCESS_BYTES_MAX) return;
    this.#options.log.error('a child process takes too much memory and is killed', {pid, bytes});
    this.#killFor('memory');
  }

  #killFor(reason: KillReason): void {
    this.#isKilled = true;
    this.#options.onKill?.(reason);
    this.kill();
  }

  #exited(end: ChildEnd): void {
    this.#exit = end;
    this.#endIfRead();
    // What it started may hold its pipes open for as long as it likes.
    if (!this.#hasEnded) setTimeout(() => this.#end(end), CHANNEL_END_MS).unref();
  }

  #endIfRead(): void {
    if (this.#exit !== null && !this.#isConnected && !this.#output.isOpen) this.#end(this.#exit);
  }

  #end(end: ChildEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#ticks);
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    this.#output.close();
    this.#options.onEnd(end);
  }
}

function isTyped(said: object): said is {type: string} {
  return 'type' in said && typeof said.type === 'string';
}

/** What a child may see of our environment: where things are and how to write, no settings and no secrets of ours. */
const PASSED_ON = ['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'NODE_ENV'];
/** Of these the paths, which a child does not look for where we do: its directory is `/`. */
const PATHS_PASSED_ON = ['TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

export function childEnvironment(env: NodeJS.ProcessEnv, added: Record<string, string>): Record<string, string> {
  return {...picked(env, PASSED_ON), ...picked(env, PATHS_PASSED_ON, resolve), ...added};
}

/**
 * Where workers find versions of Node for modules that ask for one: given by path, or installed below the data directory.
 *
 * @param executable what workers are started with, which is ours or a copy of it
 */
export function nodeEnvironment(env: NodeJS.ProcessEnv, data: string, executable: string): Record<string, string> {
  const given = NODE_VERSIONS.map(version => `SVC_NODE_${version}`);
  const at = (path: string) => (resolve(path) === process.execPath ? executable : resolve(path));
  return {...picked(env, given, at), SVC_NODE_DIRECTORY: join(data, 'node')};
}

function picked(
  env: NodeJS.ProcessEnv,
  names: readonly string[],
  as: (value: string) => string = value => value,
): Record<string, string> {
  const values = names.flatMap(name => {
    const value = env[name];
    // Set to nothing is not a path.
    return value === undefined ? [] : [[name, value === '' ? value : as(value)] as const];
  });
  return Object.fromEntries(values);
}
