/**
 * Runs the sandboxes of a tenant: isolates in one shared process, which is kept for a while after the last one, and
 * Node sandboxes in a process each.
 */
import {tenantClosing} from '../../shared/errors.ts';
import type {SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import {confiningParentWatch, type ParentWatch} from '../runtime/process/parent-watch.ts';
import type {ControlParts} from './control-parts.ts';
import {SANDBOX_PROCESS_IDLE_MS} from './limits.ts';
import {NodeSandbox} from './node-sandbox.ts';
import type {ExecutionRequest, ExecutionResult} from './sandbox-message.ts';
import {SandboxProcess} from './sandbox-process.ts';

/** The process of one or more sandboxes. */
export type SandboxHost = {
  /** Null: it is running. */
  readonly endReason: string | null;
  /** Memory without mapped files; 0: it has ended. */
  readonly bytes: number;
  /** One execution at a time per sandbox. Rejects when the host ends, after its sandboxes were reported as ended. */
  execute(sandbox: string, request: ExecutionRequest): Promise<ExecutionResult>;
  /** Ends the sandbox, even during an execution. */
  close(sandbox: string): void;
};

export type SandboxHostsParts = Pick<ControlParts, 'functions' | 'egress' | 'log'>;
export type SandboxHostEvents = {
  /** This sandbox is gone. */
  broken(sandbox: string, reason: string): void;
  /** All of the host's sandboxes are gone. */
  ended(host: SandboxHost, reason: string): void;
};
/** The part of a record that its host uses. */
export type Wanted = Pick<SandboxRecord, 'id' | 'memory_mb' | 'cpu_ms' | 'env' | 'network' | 'node_version'>;

export class SandboxHosts {
  readonly #parts: SandboxHostsParts;
  readonly #events: SandboxHostEvents;
  readonly #idleMs: number;
  /** The process of the isolates. */
  #process: SandboxProcess | null = null;
  readonly #nodes = new Set<NodeSandbox>();
  #idleTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: SandboxHostsParts, events: SandboxHostEvents, idleMs = SANDBOX_PROCESS_IDLE_MS) {
    this.#parts = parts;
    this.#events = events;
    this.#idleMs = idleMs;
  }

  /** Memory of all hosts. */
  get bytes(): number {
    let bytes = this.#process?.bytes ?? 0;
    for (const node of this.#nodes) bytes += node.bytes;
    return bytes;
  }

  /**
   * @throws op.invalid_input 400: this Node version is not available; session.overloaded 503;
   *   session.worker_unavailable 503
   */
  open(wanted: Wanted): Promise<SandboxHost> {
    this.#requireOpen();
    return wanted.node_version === null ? this.#openIsolate(wanted) : this.#openNode(wanted, wanted.node_version);
  }

  /**
   * @param isUsed whether there is an isolate, or one is being made. Without one their process is kept for a while, for
   *   the next isolate
   */
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
    const life = await confiningParentWatch();
    this.#requireOpen();
    this.#process ??= this.#newProcess(life);
    const process = this.#process;
    await process.open(id, memory_mb);
    return process;
  }

  async #openNode(wanted: Wanted, version: NonNullable<Wanted['node_version']>): Promise<SandboxHost> {
    const {services} = await this.#parts.functions();
    const [code, life] = [await services.sandboxCode(version), await confiningParentWatch()];
    this.#requireOpen();
    const {memory_mb: memoryMb, cpu_ms: cpuMs, env, network} = wanted;
    const egress = network ? this.#parts.egress() : null;
    const node: NodeSandbox = new NodeSandbox({code, parentWatch: life, memoryMb, cpuMs, env, egress}, reason => {
      this.#nodes.delete(node);
      this.#events.ended(node, reason);
    });
    // A Node sandbox that ran out of memory has reported that only to its execution.
    for (const other of this.#nodes) if (other.endReason !== null) this.#nodes.delete(other);
    this.#nodes.add(node);
    await node.ready;
    return node;
  }

  #newProcess(life: ParentWatch): SandboxProcess {
    const {broken, ended} = this.#events;
    const process: SandboxProcess = new SandboxProcess({
      parentWatch: life,
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
    if (this.#isClosed) throw tenantClosing();
  }
}
