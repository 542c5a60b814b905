/**
 * A worker's link to the process of its tenant's sandboxes (host/main.ts): starts it, bounds its memory and its silence, and
 * ends it. One object a process; when the process ends, whatever waited for it is refused and all its sandboxes are gone.
 *
 * What it may do is what Node's permission model leaves: read the code of svc and nothing else, no writes, no processes, no
 * threads. It gets no variables, no file of the tenant's, and no descriptor but the channel and its standard error.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {createRequire} from 'node:module';
import {dirname, join, sep} from 'node:path';
import {fileURLToPath} from 'node:url';
import {assert} from '../../shared/assert.ts';
import {
  SANDBOX_ANSWER_MS_MAX,
  SANDBOX_OPEN_MS_MAX,
  SANDBOX_PROCESS_BYTES_MAX,
  SANDBOX_PROCESS_BYTES_SHED,
  SANDBOX_PROCESS_LOOK_MS,
  SANDBOX_PROCESS_NICENESS,
  SANDBOX_VALUE_CHARS_MAX,
} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {ISOLATE_FLAGS} from '../../shared/node-flags.ts';
import {firstToGo, ownBytes} from '../../shared/own-memory.ts';
import {behindOthers} from '../runtime/process/behind-others.ts';
import {isJson, noSandbox} from './execution-result.ts';
import type {ExecutionRequest, ExecutionResult, FromHost, ToHost} from './sandbox-message.ts';

export type SandboxProcessEvents = {
  /** This sandbox is gone. */
  broken(sandbox: string, reason: string): void;
  /** All are. */
  ended(reason: string): void;
};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'sandboxes.js');
const LAST_WORDS_CHARS = 2_000;

export class SandboxProcess {
  readonly #child: ChildProcess;
  readonly #events: SandboxProcessEvents;
  readonly #log: Logger;
  readonly #opening = new Map<string, PromiseWithResolvers<void>>();
  readonly #executing = new Map<number, PromiseWithResolvers<ExecutionResult>>();
  readonly #watch: NodeJS.Timeout;
  readonly #onExit = () => void this.#child.kill('SIGKILL');
  #lastExecution = 0;
  #lastWords = '';
  /** Why we ended it. */
  #reason: string | null = null;
  #endedBecause: string | null = null;

  constructor(events: SandboxProcessEvents, log: Logger, main = MAIN) {
    this.#events = events;
    this.#log = log;
    const child = spawn(process.execPath, [...flags(main), main], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {TZ: 'UTC'},
      cwd: '/',
    });
    this.#child = child;
    // It must not keep a worker from ending.
    process.once('exit', this.#onExit);
    child.stderr!.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString()).slice(-LAST_WORDS_CHARS);
    });
    child.on('message', message => this.#received(message));
    child.once('error', error => this.#ended(error.message));
    child.once('close', (code, signal) => this.#ended(`${signal ?? code}`));
    behindOthers(child.pid, SANDBOX_PROCESS_NICENESS);
    firstToGo(child.pid);
    this.#watch = setInterval(() => this.#look(), SANDBOX_PROCESS_LOOK_MS);
  }

  /** Null: it runs. */
  get endedBecause(): string | null {
    return this.#endedBecause;
  }

  /** Without mapped files; 0: it has ended. */
  get bytes(): number {
    const {pid} = this.#child;
    return pid === undefined || this.#endedBecause !== null ? 0 : (ownBytes(pid) ?? 0);
  }

  /** @throws session.overloaded 503 */
  async open(sandbox: string, memoryMb: number): Promise<void> {
    const opening = Promise.withResolvers<void>();
    if (this.#endedBecause !== null) throw noSandbox(this.#endedBecause);
    this.#opening.set(sandbox, opening);
    this.#send({type: 'open', sandbox, memoryMb});
    await this.#within(SANDBOX_OPEN_MS_MAX, opening.promise);
  }

  /** Rejects when the process ends, after its sandboxes were told of as ended. */
  async execute(sandbox: string, request: ExecutionRequest): Promise<ExecutionResult> {
    const execution = ++this.#lastExecution;
    const executing = Promise.withResolvers<ExecutionResult>();
    this.#executing.set(execution, executing);
    this.#send({type: 'execute', sandbox, execution, request});
    try {
      return await this.#within(request.timeoutMs + SANDBOX_ANSWER_MS_MAX, executing.promise);
    } finally {
      this.#executing.delete(execution);
    }
  }

  close(sandbox: string): void {
    this.#send({type: 'close', sandbox});
  }

  /** Whatever it does. */
  end(): void {
    this.#kill('the worker ended it');
  }

  async #within<T>(ms: number, answer: Promise<T>): Promise<T> {
    const late = setTimeout(() => this.#kill('it gave no sign of life'), ms);
    try {
      return await answer;
    } finally {
      clearTimeout(late);
    }
  }

  /** What comes from there is outside input: its code may have left its isolate. */
  #received(message: unknown): void {
    if (this.#endedBecause !== null) return;
    if (!isFromHost(message)) {
      this.#kill('it said what it never says');
      return;
    }
    if (message.type === 'opened') {
      this.#opening.get(message.sandbox)?.resolve();
      this.#opening.delete(message.sandbox);
    } else if (message.type === 'executed') this.#executing.get(message.execution)?.resolve(message.result);
    else this.#events.broken(message.sandbox, message.reason);
  }

  #look(): void {
    const {bytes} = this;
    if (bytes > SANDBOX_PROCESS_BYTES_MAX) this.#kill("the tenant's sandboxes needed too much memory together");
    else if (bytes > SANDBOX_PROCESS_BYTES_SHED) this.#send({type: 'shed'});
  }

  #send(message: ToHost): void {
    // The callback takes the error of a channel that closes under way; the end is told by the process's end.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #kill(reason: string): void {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL');
  }

  #ended(how: string): void {
    if (this.#endedBecause !== null) return;
    const reason = this.#reason ?? `the process of the sandboxes ended (${how})`;
    this.#endedBecause = reason;
    clearInterval(this.#watch);
    process.removeListener('exit', this.#onExit);
    if (this.#reason === null) {
      this.#log.warn('the process of the sandboxes ended unasked', {how, lastWords: this.#lastWords});
    }
    this.#events.ended(reason);
    for (const opening of this.#opening.values()) opening.reject(noSandbox(reason));
    for (const executing of this.#executing.values()) executing.reject(noSandbox(reason));
    this.#opening.clear();
    this.#executing.clear();
  }
}

/** What the process may do. */
function flags(main: string): string[] {
  const native = createRequire(import.meta.url).resolve('isolated-vm');
  const at = native.lastIndexOf(`${sep}node_modules${sep}`);
  assert(at !== -1, 'isolated-vm is an installed package');
  const here = dirname(main);
  const readable = [`${here}${sep}`, join(here, '../package.json'), `${native.slice(0, at)}${sep}node_modules${sep}`];
  return [
    ...ISOLATE_FLAGS,
    '--disable-warning=SecurityWarning',
    '--permission',
    '--allow-addons',
    // Where the loader of native packages looks which C library there is.
    ...[...readable, '/etc/alpine-release'].map(path => `--allow-fs-read=${path}`),
  ];
}

function isFromHost(message: unknown): message is FromHost {
  if (typeof message !== 'object' || message === null) return false;
  const {type, sandbox, execution, reason, result} = message as Record<string, unknown>;
  if (type === 'opened') return typeof sandbox === 'string';
  if (type === 'broken') return typeof sandbox === 'string' && typeof reason === 'string';
  return type === 'executed' && typeof execution === 'number' && isResult(result);
}

function isResult(result: unknown): result is ExecutionResult {
  if (typeof result !== 'object' || result === null) return false;
  const {ok, value, lines, durationMs, broken, reason, name, message, stack} = result as Record<string, unknown>;
  if (!Array.isArray(lines) || !lines.every(isText) || typeof durationMs !== 'number') return false;
  if (broken !== null && !isText(broken)) return false;
  if (ok === true) return isText(value) && value.length <= SANDBOX_VALUE_CHARS_MAX && isJson(value);
  return ok === false && isText(reason) && isText(name) && isText(message) && (stack === null || isText(stack));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
