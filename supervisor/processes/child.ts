/**
 * One child process: its channel, output, heartbeat, memory and end. The channel is also its parent-death watch (see
 * shared/ipc/control.ts).
 *
 * A child runs in its own session: it shares no terminal with this process, so it cannot inject input into one, and
 * only this process handles a Ctrl-C.
 *
 * A child has ended when the process is gone and its channel and output have been read to the end, so the exit never
 * overtakes a last message such as `closed`. Silence is counted in our own ticks: if this process was stopped for a
 * while, no child is blamed. `watch.ts` decides what silence means, and `kill-rate.ts` how many children can be killed
 * for it.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import type {Socket} from 'node:net';
import {join, resolve} from 'node:path';
import {HEARTBEAT_INTERVAL_MS, PROCESS_BYTES_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {NODE_VERSIONS} from '../../shared/node-version.ts';
import {ownBytes} from '../../shared/own-memory.ts';
import type {ProcessKind} from '../../shared/process-kinds.ts';
import {CHANNEL_END_MS, HEARTBEAT_TIMEOUT_MS, SILENCE_MS_MAX, STARTUP_TIMEOUT_MS} from '../limits.ts';
import {CHANNEL_ENVIRONMENT, CHANNEL_FD, Channel} from './channel.ts';
import {type ChildKind, ChildOutput} from './child-output.ts';
import type {KillRate} from './kill-rate.ts';
import {type ProcessProbe, probeProcess} from './process-probe.ts';
import {HEARD, type Watch, type WatchLimits, watch} from './watch.ts';

export type ChildEnd = {code: number | null; signal: NodeJS.Signals | null};

export type ChildOptions<Received> = {
  kind: ChildKind;
  /** The tenant that it has got since, if any. */
  tenant?: () => string | undefined;
  /** The command in front of the executable (confinement/confinement.ts). */
  confinement?: readonly string[];
  /** The Node executable; by default ours. */
  executable?: string;
  /** The bundle to run. */
  entry: string;
  /** Arguments of the bundle. */
  args?: readonly string[];
  nodeFlags: readonly string[];
  env: Record<string, string>;
  log: Logger;
  /** Validates a message of the child; null: a protocol violation. By default, messages are trusted. */
  messageIn?: (said: {type: string}) => Received | null;
  onMessage: (message: Received) => void;
  /** Called once when it has ended in any way, also if it could not be started. */
  onEnd: (end: ChildEnd) => void;
  /** Called when it is killed for its behaviour, not when it was requested to end. */
  onKill?: (reason: KillReason) => void;
  /** The kill budget that this child shares with others. */
  rate: KillRate;
  /** For tests. */
  limits?: WatchLimits;
  probe?: (pid: number) => ProcessProbe | null;
};

/** The last one, a value of metrics: it violated the protocol. */
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
  /** Null: the process could not be created because no descriptor was left. */
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
  /** It hangs and is not killed yet, because too many others were: logged once. */
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
      // Its lines are parsed and formatted here.
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
            protocolViolation: why => this.disbelieve(why),
            closed: () => this.#disconnected(),
          });
    child.on('error', error => {
      options.log.error('a child process failed', {pid: child.pid, error});
      if (child.pid === undefined) this.#end({code: null, signal: null});
    });
    child.on('exit', (code, signal) => this.#exited({code, signal}));
    this.#ticks = setInterval(() => this.#tick(), this.#limits.tickMs);
  }

  /** From now on it does blocking work, as after its start, so it can be silent for longer. */
  starts(): void {
    this.#isStarting = true;
  }

  /** It has started, so the shorter limit applies from now on. */
  serves(): void {
    this.#isStarting = false;
  }

  /** Messages to a process that is ending are lost, which is harmless because its end is always reported. */
  send(message: Sent): void {
    this.#channel?.send(message, error => {
      this.#options.log.debug('a message to an ending child was lost', {pid: this.pid, error});
    });
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Kills it if it has not ended by then. */
  killAfter(ms: number): void {
    if (this.#hasEnded) return;
    this.#killTimer ??= setTimeout(() => {
      this.#options.log.warn('a child process did not end in time and is killed', {pid: this.pid, ms});
      this.kill();
    }, ms);
  }

  /**
   * It violated the protocol, here or towards another of our processes: it is killed, and its messages are no longer
   * accepted.
   */
  disbelieve(why: string): void {
    this.#isDisbelieved = true;
    if (this.#isKilled || this.#hasEnded) return;
    this.#options.log.error('a child process violated the protocol and is killed', {pid: this.pid, why});
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
      this.killAfter(CHANNEL_END_MS); // Without its channel it must end by itself.
    else this.#endIfRead();
  }

  #tick(): void {
    const heard = this.#wasHeard;
    this.#wasHeard = false;
    if (this.#isKilled || this.pid === undefined) return;
    this.#watchMemory(this.pid);
    const probe = heard ? null : (this.#options.probe ?? probeProcess)(this.pid);
    this.#watch = watch(this.#watch, {heard, probe, isStarting: this.#isStarting}, this.#limits);
    if (this.#watch.state === 'hung') this.#endHung(this.#watch);
    else this.#isSpared = false;
  }

  #endHung({silentMs, ownMs, seen}: Extract<Watch, {state: 'hung'}>): void {
    const fields = {pid: this.pid, starting: this.#isStarting, silentMs, ownMs, doing: seen?.doing};
    if (this.#options.rate.take()) {
      this.#options.log.error('a child process does not respond and is killed', fields);
      this.#killFor('hung');
      return;
    }
    if (this.#isSpared) return;
    this.#isSpared = true;
    this.#options.log.error('a child process does not respond; it is killed later, because too many just were', fields);
  }

  /** Kills a process that is about to take all of the machine's memory, while other processes can still run. */
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
    // Its children can hold its pipes open for any time.
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

/** The kinds of children by pid. @param single null: it is not running */
export function childKinds(
  many: Partial<Record<ProcessKind, readonly number[]>>,
  single: Partial<Record<ProcessKind, number | null>>,
): Map<number, ProcessKind> {
  const all = [
    ...Object.entries(many),
    ...Object.entries(single).map(([kind, pid]) => [kind, [pid ?? []].flat()] as const),
  ];
  return new Map(all.flatMap(([kind, pids]) => pids.map(pid => [pid, kind as ProcessKind] as const)));
}

/** Variables of our environment that a child gets: locations and formats, none of our settings or secrets. */
const PASSED_ON = ['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'NODE_ENV'];
/** Those that are paths. They are made absolute, because the working directory of a child is `/`. */
const PATHS_PASSED_ON = ['TMPDIR', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

export function childEnvironment(env: NodeJS.ProcessEnv, added: Record<string, string>): Record<string, string> {
  return {...picked(env, PASSED_ON), ...picked(env, PATHS_PASSED_ON, resolve), ...added};
}

/** Variables of the SDK of S3 that are paths. */
const STORE_PATHS = [
  'AWS_CA_BUNDLE',
  'AWS_CONFIG_FILE',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
];

/** What the copier gets in addition: the settings and credentials of its store. No other child gets them. */
export function copierEnvironment(env: NodeJS.ProcessEnv, added: Record<string, string>): Record<string, string> {
  const names = Object.keys(env).filter(name => name.startsWith('AWS_'));
  return {...childEnvironment(env, added), ...picked(env, names), ...picked(env, STORE_PATHS, resolve)};
}

/**
 * Where workers find versions of Node for modules that require one: configured by path, or installed below the data
 * directory.
 *
 * @param executable the one that workers are started with: ours or a copy
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
    // An empty value is not a path.
    return value === undefined ? [] : [[name, value === '' ? value : as(value)] as const];
  });
  return Object.fromEntries(values);
}
