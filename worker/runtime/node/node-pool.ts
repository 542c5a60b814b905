/**
 * The Node processes of one tenant, and the assignment of calls to them. Calls of a deployment share a process, because
 * they mostly wait. While a process computes, another one starts for the calls that wait behind it.
 *
 * The pool probes whether a process is free before it sends a call, and sends one call at a time that is not yet begun.
 * A call that never began in a process that ended goes to another process; a call that began is never run twice. A
 * process keeps the code, variables and policy it was started with. When one of them changes, new calls go to a new
 * process and the old one ends after its last call.
 */
import {overloaded, tenantClosing} from '../../../shared/errors.ts';
import type {ActionLink} from '../actions/action-link.ts';
import type {ActionRequest} from '../actions/action-message.ts';
import {UNAVAILABLE} from '../actions/action-outcome.ts';
import type {Outcome} from '../execution.ts';
import {
  ACTION_ARGUMENTS_CHARS_MAX,
  ACTION_MS_MAX,
  ACTIONS_MAX,
  NODE_BUSY_MS,
  NODE_IDLE_MS,
  NODE_PROCESSES_MAX,
} from '../limits.ts';
import {confiningParentWatch} from '../process/parent-watch.ts';
import type {ProcessMemory} from '../process-memory.ts';
import {NodeMember} from './node-member.ts';
import {type NodeCode, type NodeEnd, NodeProcess} from './node-process.ts';
import {NodeRun} from './node-run.ts';

export type NodePoolOptions = {
  memory: ProcessMemory;
  onEnd?: (cause: NodeEnd['cause']) => void;
  actionMsMax?: number;
  cpuMsMax?: number;
  bytesMax?: number;
  idleMs?: number;
};

type Waiting = {run: NodeRun; code: NodeCode; sinceMs: number};

export class NodePool {
  readonly #options: NodePoolOptions;
  readonly #members = new Set<NodeMember>();
  #waiting: Waiting[] = [];
  #pollTimer: NodeJS.Timeout | null = null;
  #lastAction = 0;
  #underWay = 0;
  #argumentChars = 0;
  #starting = 0;
  #closed: PromiseWithResolvers<void> | null = null;

  constructor(options: NodePoolOptions) {
    this.#options = options;
    options.memory.add(this);
  }

  get underWay(): number {
    return this.#underWay;
  }

  get processes(): number {
    return this.#members.size;
  }

  /** Memory of its processes, without mapped files. */
  get bytes(): number {
    let bytes = 0;
    for (const member of this.#members) bytes += member.process.bytes;
    return bytes;
  }

  /** @throws session.overloaded 503; session.worker_unavailable 503 */
  async run(code: NodeCode, request: ActionRequest, link: ActionLink, signal?: AbortSignal): Promise<Outcome> {
    if (this.#closed !== null) throw tenantClosing();
    if (this.#underWay >= ACTIONS_MAX) throw overloaded(`${ACTIONS_MAX} actions are under way; try again shortly`);
    const chars = request.args.length;
    if (this.#argumentChars + chars > ACTION_ARGUMENTS_CHARS_MAX) {
      throw overloaded('the actions under way have too large arguments; try again shortly');
    }
    this.#options.memory.check();
    const {actionMsMax = ACTION_MS_MAX} = this.#options;
    const run = new NodeRun(++this.#lastAction, request, link, () => this.#abandon(run), actionMsMax);
    const cancel = () => {
      run.fail('The action was cancelled');
      this.#abandon(run);
    };
    signal?.addEventListener('abort', cancel);
    this.#underWay++;
    this.#argumentChars += chars;
    this.#waiting.push({run, code, sinceMs: performance.now()});
    this.#place();
    try {
      return await run.ended;
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#underWay--;
      this.#argumentChars -= chars;
    }
  }

  releaseIdle(unusedMs: number): void {
    for (const member of this.#members) if (member.idleMs >= unusedMs) member.kill(REQUESTED);
  }

  /** Ends the largest process; its calls fail. */
  endLargest(): void {
    const used = [...this.#members].filter(({runs}) => runs.size > 0);
    const [largest] = used.sort((one, other) => other.process.bytes - one.process.bytes);
    largest?.kill({cause: 'memory', message: 'JavaScript execution ran out of memory'});
  }

  /** Running calls fail. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers<void>();
    for (const {run} of this.#waiting.splice(0)) run.fail(UNAVAILABLE);
    for (const member of this.#members) {
      for (const run of member.runs.values()) run.fail(UNAVAILABLE);
      member.kill(REQUESTED);
    }
    this.#endIfClosed();
    await this.#closed.promise;
  }

  /** Sends waiting calls to free processes, and starts processes for the rest. */
  #place(): void {
    const left: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (waiting.run.isOver) continue;
      const member = this.#free(waiting);
      if (member === null) left.push(waiting);
      else member.take(waiting.run);
    }
    this.#waiting = left;
    const [first] = left;
    if (first === undefined) return;
    const nowMs = performance.now();
    const own = [...this.#members].filter(member => member.serves(first.code, first.run.request));
    for (const member of own) member.ask();
    const isStarting = this.#starting > 0 || own.some(({process}) => !process.isReady);
    const isBusy = nowMs - first.sinceMs >= NODE_BUSY_MS;
    if (own.length === 0 || (isBusy && own.length < NODE_PROCESSES_MAX)) {
      if (!isStarting) void this.#start(first);
    }
    this.#pollTimer ??= setTimeout(() => {
      this.#pollTimer = null;
      this.#place();
    }, NODE_BUSY_MS);
  }

  #free({code, run}: Waiting): NodeMember | null {
    let free: NodeMember | null = null;
    for (const member of this.#members) {
      if (!member.isFree || !member.serves(code, run.request)) continue;
      if (free === null || member.runs.size < free.runs.size) free = member;
    }
    return free;
  }

  async #start({code, run}: Waiting): Promise<void> {
    const {env, egress} = run.request;
    this.#starting++;
    try {
      const life = await confiningParentWatch();
      if (this.#closed !== null) return;
      this.#retireOthers(code, run.request);
      const {bytesMax, cpuMsMax} = this.#options;
      const limits = {...(bytesMax === undefined ? {} : {bytesMax}), ...(cpuMsMax === undefined ? {} : {cpuMsMax})};
      const member: NodeMember = new NodeMember(code, {env, egress}, this.#options.idleMs ?? NODE_IDLE_MS, {
        open: events => new NodeProcess({code, env, egress, parentWatch: life, ...limits}, events),
        onFree: () => this.#place(),
        onEnd: (end, unbegun) => this.#ended(member, end, unbegun),
      });
      this.#members.add(member);
    } finally {
      this.#starting--;
      this.#endIfClosed();
    }
  }

  /** Retires processes that were started with something else. If there are too many, the oldest is ended. */
  #retireOthers(code: NodeCode, request: ActionRequest): void {
    for (const member of this.#members) if (!member.serves(code, request)) member.retire();
    if (this.#members.size < NODE_PROCESSES_MAX) return;
    const [oldest] = [...this.#members].filter(member => !member.serves(code, request));
    oldest?.kill({cause: 'told', message: 'The action was ended: newer code needed its place'});
  }

  /** The call ended here, but its code can still be running: the process is not used for other calls. */
  #abandon(run: NodeRun): void {
    for (const member of this.#members) if (member.runs.has(run.action)) member.abandon(run);
    this.#place();
  }

  #ended(member: NodeMember, end: NodeEnd, unbegun: NodeRun | null): void {
    this.#members.delete(member);
    this.#options.onEnd?.(end.cause);
    if (end.cause === 'start') this.#refuseWaiting(member, end.message);
    else if (unbegun !== null && !unbegun.isOver) {
      this.#waiting.unshift({run: unbegun, code: member.code, sinceMs: performance.now()});
    }
    if (this.#closed === null) this.#place();
    this.#endIfClosed();
  }

  /** No other process could run them. */
  #refuseWaiting({code}: NodeMember, reason: string): void {
    const message = `Node ${code.version} could not be started: ${reason}`;
    for (const waiting of this.#waiting) {
      if (waiting.code === code || waiting.code.root === code.root) waiting.run.refuse(overloaded(message));
    }
  }

  #endIfClosed(): void {
    if (this.#closed === null || this.#members.size > 0 || this.#starting > 0) return;
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    this.#closed.resolve();
  }
}

const REQUESTED: NodeEnd = {cause: 'told', message: UNAVAILABLE};
