/**
 * Where the sandboxes of a tenant run: isolates in a process that they share, which stays for a while without one, and Node sandboxes
 * in a process each.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import {confiningLifeline, type Lifeline} from '../runtime/process/lifeline.ts';
import type {ControlParts} from './control-parts.ts';
import {SANDBOX_PROCESS_IDLE_MS} from './limits.ts';
import {NodeSandbox} from './node-sandbox.ts';
import type {ExecutionRequest, ExecutionResult} from './sandbox-message.ts';
import {SandboxProcess} from './sandbox-process.ts';

/** What one or more sandboxes run in. */
export type SandboxHost = {
  /** Null: it runs. */
  readonly endedBecause: string | null;
  /** Without mapped files; 0: it has ended. */
  readonly bytes: number;
  /** One at a time of a sandbox. Rejects when the host ends, after its sandboxes were told of as ended. */
  execute(sandbox: string, request: ExecutionRequest): Promise<ExecutionResult>;
  /** Whatever it does: it is gone. */
  close(sandbox: string): void;
};

export type SandboxHostsParts = Pick<ControlParts, 'functions' | 'egress' | 'log'>;
export type SandboxHostEvents = {
  /** This sandbox is gone. */
  broken(sandbox: string, reason: string): void;
  /** All that ran in it are. */
  ended(host: SandboxHost, reason: string): void;
};
/** What of a record its host has to know. */
export type Wanted = Pick<SandboxRecord, 'id' | 'memory_mb' | 'cpu_ms' | 'env' | 'network' | 'node_version'>;

export class SandboxHosts {
  readonly #parts: SandboxHostsParts;
  readonly #events: SandboxHostEvents;
  readonly #idleMs: number;
  /** Of isolates. */
  #process: SandboxProcess | null = null;
  readonly #nodes = new Set<NodeSandbox>();
  #idleTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: SandboxHostsParts, events: SandboxHostEvents, idleMs = SANDBOX_PROCESS_IDLE_MS) {
    this.#parts = parts;
    this.#events = events;
    this.#idleMs = idleMs;
  }

  /** What they take together. */
  get bytes(): number {
    let bytes = this.#process?.bytes ?? 0;
    for (const node of this.#nodes) bytes += node.bytes;
    return bytes;
  }

  /** @throws op.invalid_input 400: this Node is not to be had; session.overloaded 503; session.worker_unavailable 503 */
  open(wanted: Wanted): Promise<SandboxHost> {
    this.#requireOpen();
    return wanted.node_version === null ? this.#openIsolate(wanted) : this.#openNode(wanted, wanted.node_version);
  }

  /** @param isUsed whether an isolate is left, or is being made. Without one their process is kept for a while, for the next one */
  rest(isUsed: boolean): void {
    if (isUsed || this.#isClosed || this.#process === null || this.#idleTimer !== null) return;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = null;
      this.#process?.end();
      this.#process = null;
    }, this.#idleMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#process?.end();
    for (const node of this.#nodes) node.close();
  }

  async #openIsolate({id, memory_mb}: Wanted): Promise<SandboxHost> {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    const life = await confiningLifeline();
    this.#requireOpen();
    this.#process ??= this.#newProcess(life);
    const process = this.#process;
    await process.open(id, memory_mb);
    return process;
  }

  async #openNode(wanted: Wanted, version: NonNullable<Wanted['node_version']>): Promise<SandboxHost> {
    const {services} = await this.#parts.functions();
    const [code, life] = [await services.sandboxCode(version), await confiningLifeline()];
    this.#requireOpen();
    const {memory_mb: memoryMb, cpu_ms: cpuMs, env, network} = wanted;
    const egress = network ? this.#parts.egress() : null;
    const node: NodeSandbox = new NodeSandbox({code, lifeline: life, memoryMb, cpuMs, env, egress}, reason => {
      this.#nodes.delete(node);
      this.#events.ended(node, reason);
    });
    // One that ended for want of memory told its execution, and nobody else.
    for (const other of this.#nodes) if (other.endedBecause !== null) this.#nodes.delete(other);
    this.#nodes.add(node);
    await node.ready;
    return node;
  }

  #newProcess(life: Lifeline): SandboxProcess {
    const {broken, ended} = this.#events;
    const process: SandboxProcess = new SandboxProcess({
      lifeline: life,
      log: this.#parts.log,
      broken,
      ended: reason => {
        if (this.#process === process) this.#process = null;
        ended(process, reason);
      },
    });
    return process;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new ServiceError('session.worker_unavailable', 'the tenant is being closed; try again');
  }
}
