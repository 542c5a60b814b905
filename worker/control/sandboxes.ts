/**
 * The sandboxes of a tenant: their records, and their executions. sandbox-hosts.ts runs them. The states are drawn in
 * shared/protocol/sandboxes.ts.
 *
 * - A record is `running` on disk, and visible, only after its isolate or process exists.
 * - A stop is on disk before it is answered. A sandbox that ends by itself (expired, failed) ends at once, and on disk
 *   a moment later. If the worker ends in that moment, the next one finds the record `running`, which is impossible,
 *   and sets it to `failed`.
 * - So a sandbox is never found empty: it is the original one, or executions are refused.
 */
import {randomBytes} from 'node:crypto';
import type {Writer} from '../../engine/commit/writer.ts';
import {conflict, overloaded, rateLimited, ServiceError} from '../../shared/errors.ts';
import type {ExecuteBody, ExecutionFailure, SandboxBody, SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import type {ControlParts} from './control-parts.ts';
import {ControlRecords, removeOldest} from './control-records.ts';
import {shownMs} from './execution-result.ts';
import {
  NODE_SANDBOXES_MAX,
  SANDBOX_ARGUMENTS_CHARS_MAX,
  SANDBOX_EXECUTE_MS_DEFAULT,
  SANDBOX_EXECUTIONS_MAX,
  SANDBOX_WAITING_MAX,
  SANDBOXES_KEPT,
  SANDBOXES_MAX,
} from './limits.ts';
import {controlRecords} from './record-table.ts';
import {type SandboxHost, SandboxHosts} from './sandbox-hosts.ts';
import type {ExecutionRequest, ExecutionResult} from './sandbox-message.ts';
import {sandboxRequestOf} from './sandbox-request.ts';

/** A running sandbox. */
type Live = {
  host: SandboxHost;
  /** Resolves when the last requested execution is over. */
  last: Promise<unknown>;
  /** Executions under way and waiting. */
  executions: number;
  /** Callbacks for its end. */
  waiting: Set<() => void>;
};

type End = Pick<SandboxRecord, 'state' | 'error'>;

export class Sandboxes {
  readonly #parts: ControlParts;
  readonly #records: ControlRecords<SandboxRecord>;
  readonly #live = new Map<string, Live>();
  readonly #hosts: SandboxHosts;
  /** Sandboxes being created, and how many of them are Node sandboxes. */
  #opening = 0;
  #openingNodes = 0;
  #executions = 0;
  #chars = 0;

  constructor(parts: ControlParts) {
    this.#parts = parts;
    this.#records = new ControlRecords(controlRecords(parts.db, 'sandbox'), ({id}) => id);
    this.#hosts = new SandboxHosts(parts, {
      broken: (id, reason) => {
        if (this.#live.has(id)) this.#end(id, {state: 'failed', error: reason});
      },
      ended: (host, reason) => {
        const its = [...this.#live].filter(([, live]) => live.host === host);
        for (const [id] of its) this.#end(id, {state: 'failed', error: reason});
      },
    });
    for (const stored of [...this.#records.sound()]) {
      const record = {...BEFORE_NODE, ...stored};
      this.#records.took(record);
      if (record.state !== 'running') continue;
      const isOver = record.expires_at <= parts.clock();
      this.#end(
        record.id,
        isOver ? EXPIRED : {state: 'failed', error: 'its worker ended, and all that it held is gone'},
      );
    }
  }

  /** Number of running sandboxes. */
  get running(): number {
    return this.#live.size;
  }

  /** Memory of all hosts. */
  get bytes(): number {
    return this.#hosts.bytes;
  }

  /** When the next one expires, and when the last one does; epoch milliseconds, null: none is running. */
  get nextEndMs(): number | null {
    let next: number | null = null;
    for (const {expires_at: endMs} of this.#runningRecords()) if (next === null || endMs < next) next = endMs;
    return next;
  }
  get lastEndMs(): number | null {
    let last: number | null = null;
    for (const {expires_at: endMs} of this.#runningRecords()) if (last === null || endMs > last) last = endMs;
    return last;
  }

  /** @throws op.storage_damaged 503 */
  all(): SandboxRecord[] {
    this.expire();
    return this.#records.all();
  }

  /** @throws op.not_found 404 */
  get(id: string): SandboxRecord {
    this.expire();
    return this.#records.get(id);
  }

  /**
   * @param session the session that owns it; null: none
   * @param write performs the write and returns the response; for a repeated request that is an earlier sandbox
   * @throws op.invalid_input 400, op.rate_limited 429, session.overloaded 503
   */
  async create<T>(
    body: SandboxBody,
    session: string | null,
    write: (store: (writer: Writer) => SandboxRecord) => Promise<T>,
  ): Promise<T> {
    const requested = sandboxRequestOf(body);
    const isNode = requested.node_version !== null;
    this.#checkRoom(isNode);
    const id = randomBytes(16).toString('hex');
    this.#opening++;
    if (isNode) this.#openingNodes++;
    try {
      const host = await this.#hosts.open({id, ...requested});
      const created_at = Math.floor(this.#parts.clock());
      const record: SandboxRecord = {
        id,
        ...requested,
        state: 'running',
        session_id: session,
        created_at,
        expires_at: created_at + requested.ttl_ms,
        ended_at: null,
        error: null,
      };
      return await this.#begin(record, host, write);
    } finally {
      this.#opening--;
      if (isNode) this.#openingNodes--;
      this.#rest();
    }
  }

  /** @throws op.not_found 404, op.conflict 409 when it is not running */
  async execute(id: string, {code, args = {}, timeout_ms: timeoutMs}: ExecuteBody): Promise<string> {
    const live = this.#running(id);
    const argsText = JSON.stringify(args);
    const chars = code.length + argsText.length;
    if (live.executions > SANDBOX_WAITING_MAX || this.#executions >= SANDBOX_EXECUTIONS_MAX) {
      throw rateLimited(
        `at most ${SANDBOX_WAITING_MAX} executions of a sandbox wait for the one under way, and ${SANDBOX_EXECUTIONS_MAX} of a tenant; try again shortly`,
      );
    }
    if (this.#chars + chars > SANDBOX_ARGUMENTS_CHARS_MAX) {
      throw overloaded('the executions under way have too large arguments; try again shortly');
    }
    const before = live.last;
    const over = Promise.withResolvers<void>();
    live.last = over.promise;
    live.executions++;
    this.#executions++;
    this.#chars += chars;
    try {
      await untilEnd(live, before);
      return await this.#executeNow(id, live, {
        code,
        args: argsText,
        timeoutMs: timeoutMs ?? SANDBOX_EXECUTE_MS_DEFAULT,
      });
    } finally {
      this.#chars -= chars;
      this.#executions--;
      live.executions--;
      over.resolve();
    }
  }

  /** Stops it; an ended sandbox stays as it is. @throws op.not_found 404, or the error of the write */
  async stop(id: string): Promise<SandboxRecord> {
    const {state} = this.get(id);
    if (state === 'running') {
      const stopped = await this.#parts.groups.perform(writer => this.storeStopped(writer, id));
      if (stopped !== null) this.stopped(stopped);
    }
    return this.#records.get(id);
  }

  /** @throws op.not_found 404, op.conflict 409 */
  requireRunning(id: string): void {
    this.#running(id);
  }

  /** Whether that session created it. */
  isOf(id: string, session: string): boolean {
    return this.#records.has(id) && this.#records.get(id).session_id === session;
  }

  /** Call inside a write that stops it. @returns its new record, for `stopped`; null: it has ended already */
  storeStopped(writer: Writer, id: string): SandboxRecord | null {
    const record = this.#records.get(id);
    if (record.state !== 'running') return null;
    const stopped = this.#ended(record, STOPPED);
    this.#records.store(writer, stopped);
    return stopped;
  }

  /** That write is on disk. */
  stopped(record: SandboxRecord): void {
    this.#take(record);
  }

  /** Ends it now; the record is on disk a moment later. */
  release(id: string): void {
    this.#end(id, STOPPED);
  }

  /** Ends expired sandboxes. */
  expire(): void {
    const nowMs = this.#parts.clock();
    for (const {id, expires_at} of [...this.#runningRecords()]) if (expires_at <= nowMs) this.#end(id, EXPIRED);
  }

  /** The worker closes: running sandboxes are gone. */
  async close(): Promise<void> {
    const end: End = {state: 'failed', error: 'its worker was closed, and all that it held is gone'};
    const ids = [...this.#live.keys()];
    for (const id of ids) this.#take(this.#ended(this.#records.get(id), end));
    this.#hosts.close();
    if (ids.length === 0) return;
    try {
      await this.#parts.groups.perform(writer => {
        for (const id of ids) this.#records.store(writer, this.#records.get(id));
      });
    } catch (caught) {
      // Without disk space the records stay `running`, and the next worker sets them to `failed`.
      if (!(caught instanceof ServiceError)) throw caught;
    }
  }

  async #executeNow(
    id: string,
    live: Live,
    {code, args, timeoutMs}: Pick<ExecutionRequest, 'code' | 'args' | 'timeoutMs'>,
  ): Promise<string> {
    this.#running(id);
    const {cpu_ms: cpuMs, env, network} = this.#records.get(id);
    const egress = network ? this.#parts.egress() : null;
    const startedMs = performance.now();
    const executed = live.host.execute(id, {code, args, timeoutMs, cpuMs, env, egress});
    const result = (await untilEnd(live, executed)) ?? this.#cutOff(id, performance.now() - startedMs);
    return this.#answer(id, result);
  }

  async #begin<T>(
    record: SandboxRecord,
    host: SandboxHost,
    write: (store: (writer: Writer) => SandboxRecord) => Promise<T>,
  ): Promise<T> {
    const {id} = record;
    let isStored = false;
    let forgotten: string[] = [];
    try {
      const answer = await write(writer => {
        this.#records.store(writer, record);
        forgotten = removeOldest(this.#records, SANDBOXES_KEPT);
        isStored = true;
        return record;
      });
      if (!isStored) {
        host.close(id);
        return answer;
      }
      this.#records.forgot(forgotten);
      this.#records.took(record);
      this.#live.set(id, {host, last: Promise.resolve(), executions: 0, waiting: new Set()});
      this.#parts.changed();
      // It may have ended during the write.
      if (host.endReason !== null) this.#end(id, {state: 'failed', error: host.endReason});
      return answer;
    } catch (caught) {
      host.close(id);
      throw caught;
    }
  }

  /** The result of an execution whose sandbox ended meanwhile. */
  #cutOff(id: string, tookMs: number): ExecutionResult {
    const {state, error} = this.#records.get(id);
    return {
      ok: false,
      reason: 'ended',
      name: 'Error',
      message: `the sandbox ended while the code ran: it is ${state}${error === null ? '' : `, ${error}`}`,
      stack: null,
      lines: [],
      durationMs: shownMs(tookMs),
      broken: null,
    };
  }

  #answer(id: string, result: ExecutionResult): string {
    const {lines, durationMs, broken} = result;
    if (broken !== null) this.#end(id, {state: 'failed', error: broken});
    const {metrics} = this.#parts;
    metrics.count('svc_sandbox_executions_total', {outcome: result.ok ? 'success' : result.reason});
    metrics.observe('svc_sandbox_execution_seconds', durationMs / 1_000);
    const said = `"log_lines":${JSON.stringify(lines)},"duration_ms":${durationMs}`;
    if (result.ok) return `{"value":${result.value},${said}}`;
    const {reason, name, message, stack} = result;
    const detail: ExecutionFailure = {
      reason,
      name,
      stack,
      log_lines: lines,
      duration_ms: durationMs,
      state: this.#records.get(id).state,
    };
    throw new ServiceError('sandbox.execution_failed', message || name || 'the code threw', detail);
  }

  #running(id: string): Live {
    const {state, error} = this.get(id);
    const live = this.#live.get(id);
    if (live !== undefined) return live;
    throw notRunning(id, {state, error});
  }

  *#runningRecords(): Generator<SandboxRecord> {
    for (const id of this.#live.keys()) yield this.#records.get(id);
  }

  #ended(record: SandboxRecord, end: End): SandboxRecord {
    return {...record, ...end, ended_at: Math.floor(this.#parts.clock())};
  }

  /** Takes effect at once, and on disk a moment later. */
  #end(id: string, end: End): void {
    if (!this.#take(this.#ended(this.#records.get(id), end))) return;
    void this.#parts.background.perform('the end of a sandbox', writer => {
      this.#records.store(writer, this.#records.get(id));
    });
  }

  /** @param ended its new record. @returns false when it had ended before */
  #take(ended: SandboxRecord): boolean {
    const {id, state} = ended;
    if (this.#records.get(id).state !== 'running') return false;
    this.#records.took(ended);
    const live = this.#live.get(id);
    this.#live.delete(id);
    for (const tell of live?.waiting ?? []) tell();
    live?.host.close(id);
    this.#rest();
    this.#parts.metrics.count('svc_sandboxes_ended_total', {state});
    this.#parts.changed();
    return true;
  }

  /** @throws op.rate_limited 429 */
  #checkRoom(isNode: boolean): void {
    if (this.#live.size + this.#opening >= SANDBOXES_MAX) {
      throw rateLimited(`a tenant has at most ${SANDBOXES_MAX} sandboxes that run; stop some`);
    }
    if (!isNode || this.#count('node') + this.#openingNodes < NODE_SANDBOXES_MAX) return;
    throw rateLimited(
      `a tenant has at most ${NODE_SANDBOXES_MAX} sandboxes with runtime "node" that run; stop some, or use "isolate"`,
    );
  }

  #count(runtime: SandboxRecord['runtime']): number {
    let count = 0;
    for (const record of this.#runningRecords()) if (record.runtime === runtime) count++;
    return count;
  }

  #rest(): void {
    this.#hosts.rest(this.#count('isolate') + this.#opening - this.#openingNodes > 0);
  }
}

const STOPPED: End = {state: 'stopped', error: null};
const EXPIRED: End = {state: 'expired', error: null};
/** Defaults for records written before there were two runtimes. */
const BEFORE_NODE = {node_version: null};

/** Null: the sandbox ended first. */
function untilEnd<T>({waiting}: Live, promise: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const ended = (): void => resolve(null);
    waiting.add(ended);
    promise.then(resolve, reject).finally(() => waiting.delete(ended));
  });
}

function notRunning(id: string, {state, error}: End): ServiceError {
  const why = error === null ? '' : `: ${error}`;
  return conflict(`the sandbox ${id} is ${state}${why}; what it held is gone, make another one`, {
    state,
  });
}
