/**
 * The worker's link to the process of its tenant's sandboxes (host/main.ts): starts it, bounds its memory and its
 * silence, and ends it. One object per process. When the process ends, pending requests are refused and all its
 * sandboxes are gone.
 *
 * Node's permission model lets the process read the code of svc and nothing else: no writes, processes or threads. It
 * gets no variables, no tenant file, and no descriptors except the pipe and its standard error.
 */
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, sep} from 'node:path';
import {fileURLToPath} from 'node:url';
import {assert} from '../../shared/assert.ts';
import type {Logger} from '../../shared/log.ts';
import {ISOLATE_FLAGS} from '../../shared/node-flags.ts';
import {ISOLATE_UNREAD_BYTES_MAX} from '../runtime/limits.ts';
import {ConfinedProcess, type ProcessEnd} from '../runtime/process/confined-process.ts';
import {confined, type ParentWatch} from '../runtime/process/parent-watch.ts';
import {noSandbox} from './execution-result.ts';
import {
  SANDBOX_ANSWER_MS_MAX,
  SANDBOX_FRAME_BYTES_MAX,
  SANDBOX_OPEN_MS_MAX,
  SANDBOX_PROCESS_BYTES_MAX,
  SANDBOX_PROCESS_BYTES_SHED,
  SANDBOX_PROCESS_NICENESS,
  SANDBOX_PROCESS_POLL_MS,
} from './limits.ts';
import {
  checkedFromHost,
  type ExecutionRequest,
  type ExecutionResult,
  type FromHost,
  type ToHost,
} from './sandbox-message.ts';

export type SandboxProcessEvents = {
  /** This sandbox is gone. */
  broken(sandbox: string, reason: string): void;
  /** All sandboxes are gone. */
  ended(reason: string): void;
};

export type SandboxProcessParts = SandboxProcessEvents & {parentWatch: ParentWatch; log: Logger};

const MAIN = join(dirname(fileURLToPath(import.meta.url)), 'sandboxes.js');

export class SandboxProcess {
  readonly #process: ConfinedProcess<ToHost, FromHost>;
  readonly #parts: SandboxProcessParts;
  readonly #opening = new Map<string, PromiseWithResolvers<void>>();
  readonly #executing = new Map<number, PromiseWithResolvers<ExecutionResult>>();
  #lastExecution = 0;
  #endReason: string | null = null;

  constructor(parts: SandboxProcessParts, main = MAIN) {
    this.#parts = parts;
    const readable = readableBy(main);
    this.#process = new ConfinedProcess(
      {
        command: [process.execPath, ...flags(readable), main],
        parentWatch: confined(parts.parentWatch, process.execPath, readable),
        env: {TZ: 'UTC'},
        niceness: SANDBOX_PROCESS_NICENESS,
        bytesMax: SANDBOX_PROCESS_BYTES_MAX,
        pollMs: SANDBOX_PROCESS_POLL_MS,
        pipe: {
          frameBytesMax: SANDBOX_FRAME_BYTES_MAX,
          unreadBytesMax: ISOLATE_UNREAD_BYTES_MAX,
          check: checkedFromHost,
        },
      },
      {
        onMessage: message => this.#received(message),
        onPoll: () => {
          if (this.bytes > SANDBOX_PROCESS_BYTES_SHED) this.#process.send({type: 'shed'});
        },
        onEnd: end => this.#ended(end),
      },
    );
    this.#process.watch(true);
  }

  /** Null: it is running. */
  get endReason(): string | null {
    return this.#endReason;
  }

  /** Memory without mapped files; 0: it has ended. */
  get bytes(): number {
    return this.#process.bytes;
  }

  /** @throws session.overloaded 503 */
  async open(sandbox: string, memoryMb: number): Promise<void> {
    const opening = Promise.withResolvers<void>();
    if (this.#endReason !== null) throw noSandbox(this.#endReason);
    this.#opening.set(sandbox, opening);
    this.#process.send({type: 'open', sandbox, memoryMb});
    await this.#within(SANDBOX_OPEN_MS_MAX, opening.promise);
  }

  /** Rejects when the process ends, after its sandboxes were reported as ended. */
  async execute(sandbox: string, request: ExecutionRequest): Promise<ExecutionResult> {
    const execution = ++this.#lastExecution;
    const executing = Promise.withResolvers<ExecutionResult>();
    this.#executing.set(execution, executing);
    this.#process.send({type: 'execute', sandbox, execution, request});
    try {
      return await this.#within(request.timeoutMs + SANDBOX_ANSWER_MS_MAX, executing.promise);
    } finally {
      this.#executing.delete(execution);
    }
  }

  close(sandbox: string): void {
    this.#process.send({type: 'close', sandbox});
  }

  /** Ends the process at once. */
  end(): void {
    this.#process.kill('told', 'the worker ended it');
  }

  async #within<T>(ms: number, answer: Promise<T>): Promise<T> {
    const late = setTimeout(() => this.#process.kill('silent', 'it gave no sign of life'), ms);
    try {
      return await answer;
    } finally {
      clearTimeout(late);
    }
  }

  #received(message: FromHost): void {
    if (message.type === 'opened') {
      this.#opening.get(message.sandbox)?.resolve();
      this.#opening.delete(message.sandbox);
    } else if (message.type === 'executed') this.#executing.get(message.execution)?.resolve(message.result);
    else this.#parts.broken(message.sandbox, message.reason);
  }

  #ended({cause, how, isUnexpected, stderrTail}: ProcessEnd): void {
    const {log, ended} = this.#parts;
    const reason =
      cause === 'memory'
        ? "the tenant's sandboxes needed too much memory together"
        : isUnexpected
          ? `the process of the sandboxes ended (${how})`
          : how;
    this.#endReason = reason;
    if (cause !== 'told') log.warn('the process of the sandboxes ended', {cause, how, stderrTail});
    ended(reason);
    for (const opening of this.#opening.values()) opening.reject(noSandbox(reason));
    for (const executing of this.#executing.values()) executing.reject(noSandbox(reason));
    this.#opening.clear();
    this.#executing.clear();
  }
}

/** The code of svc and the packages that it loads. */
function readableBy(main: string): string[] {
  const require = createRequire(import.meta.url);
  const native = require.resolve('isolated-vm');
  const at = native.lastIndexOf(`${sep}node_modules${sep}`);
  assert(at !== -1, 'isolated-vm is an installed package');
  const here = dirname(main);
  // The loader also reads packages by its search path, which may be a link to their real location.
  const looked = (require.resolve.paths('isolated-vm') ?? []).filter(existsSync);
  const modules = new Set([`${native.slice(0, at)}${sep}node_modules`, ...looked]);
  return [`${here}${sep}`, join(here, '../package.json'), ...[...modules].map(path => `${path}${sep}`)];
}

/** The permissions of the process. */
function flags(readable: readonly string[]): string[] {
  return [
    ...ISOLATE_FLAGS,
    '--disable-warning=SecurityWarning',
    '--permission',
    '--allow-addons',
    // The loader of native packages reads this file to find out which C library is installed.
    ...[...readable, '/etc/alpine-release'].map(path => `--allow-fs-read=${path}`),
  ];
}
