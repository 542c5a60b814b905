/**
 * The worker's side of a sandbox with `runtime: "node"`: its own Node process, confined like those of actions, that
 * executes code sequentially (runtime/node/child-sandbox.ts). All its messages are outside input.
 *
 * The process is stopped between executions, so leftover work takes no time and connects to nothing. Where stopping is
 * not safely possible (node-process.ts, `rest`), CPU time between executions counts for the next one.
 */

import {assert} from '../../shared/assert.ts';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import {ActionLines} from '../runtime/actions/action-lines.ts';
import type {RunFault} from '../runtime/actions/action-run.ts';
import {ConsoleLines} from '../runtime/console-lines.ts';
import {errorIn, type Framed, type FromNode} from '../runtime/node/node-message.ts';
import {type NodeCode, type NodeEnd, NodeProcess} from '../runtime/node/node-process.ts';
import {isJson} from '../runtime/process/is-json.ts';
import type {ParentWatch} from '../runtime/process/parent-watch.ts';
import {ReadLimiter} from '../runtime/process/read-limiter.ts';
import {brokenBy, type Came, cutOff, noSandbox, ownFrames, returned, shownMs} from './execution-result.ts';
import {
  NODE_SANDBOX_ANSWER_MS_MAX,
  NODE_SANDBOX_BESIDE_MB,
  NODE_SANDBOX_POLL_MS,
  SANDBOX_PROCESS_NICENESS,
  SANDBOX_VALUE_CHARS_MAX,
} from './limits.ts';
import type {ExecutionRequest, ExecutionResult} from './sandbox-message.ts';

export type NodeSandboxParts = {
  code: NodeCode;
  parentWatch: ParentWatch;
  memoryMb: number;
  cpuMs: number;
  env: Readonly<Record<string, string>>;
  /** Null: no network. */
  egress: EgressEndpoint | null;
};

type Execution = {
  action: number;
  request: ExecutionRequest;
  startedMs: number;
  lines: ActionLines;
  log: ConsoleLines;
  timer: NodeJS.Timeout;
  result: PromiseWithResolvers<ExecutionResult>;
};
type Said = Framed<Exclude<FromNode, {type: 'ready' | 'alive'}>>;

const MIB = 1024 * 1024;
/** Stack frames of the code that calls the user's code: our scripts, and Node. */
const OTHERS = /svc:call|\.svc\/node-child\.js|node:(internal|vm)/;

export class NodeSandbox {
  readonly ready: Promise<void>;
  readonly #parts: NodeSandboxParts;
  readonly #process: NodeProcess;
  readonly #onEnd: (reason: string) => void;
  readonly #opening = Promise.withResolvers<void>();
  readonly #readLimiter: ReadLimiter;
  #polls: NodeJS.Timeout | null = null;
  #lastAction = 0;
  #execution: Execution | null = null;
  /** CPU time used up to the end of its last execution. */
  #cpuAtRestMs = 0;
  /**
   * After the execution's time is over: number of answers still needed to believe that it only waits; null: still in
   * time.
   */
  #awaited: number | null = null;
  #endReason: string | null = null;

  /** @param onEnd called when it ends and no execution reports that */
  constructor(parts: NodeSandboxParts, onEnd: (reason: string) => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    const {code, env, egress, parentWatch, memoryMb} = parts;
    this.ready = this.#opening.promise;
    this.#process = new NodeProcess(
      {
        code,
        env,
        egress,
        parentWatch,
        niceness: SANDBOX_PROCESS_NICENESS,
        heapMb: memoryMb,
        bytesMax: (memoryMb + NODE_SANDBOX_BESIDE_MB) * MIB,
        // Checked here, because it counts from the start of each execution.
        cpuMsMax: Number.POSITIVE_INFINITY,
        pollMs: NODE_SANDBOX_POLL_MS,
      },
      {
        onReady: () => this.#rest(),
        onAlive: () => this.#showsThatItWaits(),
        onMessage: message => this.#received(message),
        onEnd: end => this.#ended(end),
      },
    );
    this.#readLimiter = new ReadLimiter(isHeard => this.#process.hear(isHeard));
  }

  /** Null: it is running. */
  get endReason(): string | null {
    return this.#endReason;
  }

  get bytes(): number {
    return this.#process.bytes;
  }

  /** One execution at a time. @throws session.overloaded 503 when it has ended */
  execute(_: string, request: ExecutionRequest): Promise<ExecutionResult> {
    if (this.#endReason !== null) throw noSandbox(this.#endReason);
    assert(this.#execution === null, 'executions of a sandbox run one after another');
    const lines = new ActionLines();
    const {code, args, timeoutMs} = request;
    const execution: Execution = {
      action: ++this.#lastAction,
      request,
      startedMs: performance.now(),
      lines,
      log: new ConsoleLines(line => lines.add(line)),
      timer: setTimeout(() => this.#late(), timeoutMs),
      result: Promise.withResolvers(),
    };
    this.#execution = execution;
    this.#process.rest(false);
    this.#watch(true);
    this.#process.send({type: 'execute', action: execution.action, codeChars: code.length}, code + args);
    return execution.result.promise;
  }

  /** Ends the process, even during an execution. */
  close(): void {
    this.#process.kill({cause: 'told', message: 'the sandbox was ended'});
  }

  #received(message: Said): void {
    this.#readLimiter.count();
    const execution = this.#execution;
    if (message.type === 'log') {
      if (execution?.action === message.action) execution.log.add(message.text);
      return;
    }
    if (message.type !== 'executed') {
      this.#process.violatedProtocol();
      return;
    }
    if (execution?.action !== message.action) return; // That execution has already been given up.
    const came = this.#cameTo(message, execution);
    if (came === null) this.#process.violatedProtocol();
    else this.#settle(came, null);
  }

  /** Null: our child script never sends such a message. */
  #cameTo({fault, text}: Said & {type: 'executed'}, {request}: Execution): Came | null {
    switch (fault) {
      case null:
        return text.length > SANDBOX_VALUE_CHARS_MAX || isJson(text) ? returned(text) : null;
      case 'unfinished':
        return cutOff(fault, request, this.#parts.memoryMb);
      case 'syntax':
      case 'threw': {
        const {name, message, stack} = errorIn(text);
        return {ok: false, reason: fault, name, message, stack: ownFrames(stack, OTHERS)};
      }
      default:
        return null;
    }
  }

  /** @param broken why the sandbox is of no further use; null: it goes on */
  #settle(came: Came, broken: string | null): void {
    const execution = this.#execution;
    if (execution === null) return;
    this.#execution = null;
    this.#awaited = null;
    clearTimeout(execution.timer);
    this.#rest();
    const durationMs = shownMs(performance.now() - execution.startedMs);
    execution.result.resolve({...came, lines: execution.lines.all, durationMs, broken});
  }

  /** Ends a sandbox that is of no further use. */
  #break(fault: RunFault): void {
    const {memoryMb} = this.#parts;
    if (this.#execution !== null)
      this.#settle(cutOff(fault, this.#execution.request, memoryMb), brokenBy(fault, memoryMb));
    this.#process.kill({cause: fault === 'memory' ? 'memory' : 'time', message: brokenBy(fault, memoryMb)});
  }

  /** The execution's time is over: the sandbox survives if its code only waits. */
  #late(): void {
    // The first answer can belong to an earlier probe.
    this.#awaited = 2;
    this.#execution!.timer = setTimeout(() => this.#break('duration'), NODE_SANDBOX_ANSWER_MS_MAX);
  }

  #showsThatItWaits(): void {
    if (this.#awaited === null || --this.#awaited > 0) return;
    const {action, request} = this.#execution!;
    this.#process.send({type: 'drop', action});
    this.#settle(cutOff('duration', request, this.#parts.memoryMb), null);
  }

  #rest(): void {
    this.#cpuAtRestMs = this.#process.cpuMs;
    this.#opening.resolve();
    if (this.#process.rest(true)) this.#watch(false);
  }

  #watch(isWatched: boolean): void {
    this.#process.watch(isWatched);
    if (this.#polls !== null) clearInterval(this.#polls);
    this.#polls = isWatched ? setInterval(() => this.#poll(), NODE_SANDBOX_POLL_MS) : null;
  }

  #poll(): void {
    if (this.#process.cpuMs - this.#cpuAtRestMs > this.#parts.cpuMs) this.#break('cpu');
  }

  #ended({cause, message}: NodeEnd): void {
    const {memoryMb} = this.#parts;
    this.#watch(false);
    this.#readLimiter.end();
    const reason = cause === 'memory' ? brokenBy('memory', memoryMb) : message;
    this.#endReason = reason;
    this.#opening.reject(noSandbox(reason));
    const execution = this.#execution;
    if (execution !== null && cause === 'memory') {
      this.#settle(cutOff('memory', execution.request, memoryMb), reason);
      return;
    }
    if (execution !== null) clearTimeout(execution.timer);
    this.#onEnd(reason);
  }
}
