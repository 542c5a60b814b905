/**
 * The services of a tenant: their records and runners. The states are drawn in shared/protocol/services.ts.
 *
 * - A requested change (definition, `desired_state`) is on disk before it is answered, and before it takes effect.
 * - What a service does by itself (exits, restarts, `failed`, a return that ends it) takes effect at once, and is on
 *   disk a moment later. If the worker ends in that moment, the next one starts a service again that had just ended.
 * - Every worker of the tenant starts the services whose `desired_state` is `running`, unless they had `failed`. Their
 *   processes end with the worker, so a service never has two.
 */

import type {Commit} from '../../../engine/commit/commit.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {refusalOf} from '../../../engine/storage/failure.ts';
import {activatedMs} from '../../../engine/storage/stored-settings.ts';
import {conflict, invalid, rateLimited, ServiceError, tenantClosing} from '../../../shared/errors.ts';
import {NODE_VERSION_DEFAULT} from '../../../shared/node-version.ts';
import type {ServiceBody, ServiceRecord, ServiceUpdateBody} from '../../../shared/protocol/services.ts';
import type {ServiceHost} from '../../functions/service-host.ts';
import type {LogTarget} from '../../runtime/log/read-log.ts';
import type {ControlParts} from '../control-parts.ts';
import {ControlRecords} from '../control-records.ts';
import {checkEnvironment} from '../environment-check.ts';
import {SERVICE_CLOSE_MS_MAX, SERVICE_ENV_CHARS_MAX, SERVICE_MEMORY_MB_DEFAULT, SERVICES_MAX} from '../limits.ts';
import {serviceRecords} from '../record-table.ts';
import {removeLog, ServiceLog} from './service-log.ts';
import {ServiceRunner, startingPoint} from './service-runner.ts';

type Running = {runner: ServiceRunner; log: ServiceLog};
type Definition = Pick<ServiceRecord, 'source' | 'env' | 'node_version' | 'memory_mb' | 'restart' | 'autostart'>;

/** Events that change what a service's process is started with. */
const STARTING_POINTS: ReadonlySet<string> = new Set([
  'deployment.activated',
  'environment.set',
  'environment.deleted',
  'settings.changed',
]);

export class Services {
  readonly #parts: ControlParts;
  readonly #records: ControlRecords<ServiceRecord>;
  readonly #running = new Map<string, Running>();
  /** Resolves when the last request for a service is done. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Services whose newest records are about to be written. */
  readonly #unwritten = new Set<string>();
  /**
   * Services with a requested write that is not yet on disk. True: their own changes since then have to be written
   * after it.
   */
  readonly #requested = new Map<string, boolean>();
  #isClosed = false;

  constructor(parts: ControlParts) {
    this.#parts = parts;
    this.#records = new ControlRecords(serviceRecords(parts.db), ({name}) => name);
    const codeSinceMs = activatedMs(parts.db);
    for (const record of [...this.#records.sound()]) {
      // If the worker was killed right after a deploy, services that had failed were not restarted with the new code.
      // That happens here.
      const isFailed = record.state === 'failed' && !(codeSinceMs >= (record.last_exit?.at ?? 0));
      const isWanted = record.desired_state === 'running' && !isFailed;
      const state = isFailed ? 'failed' : 'stopped';
      this.#records.took({...record, state});
      const {runner} = this.#add(record.name, state);
      if (isWanted) runner.start();
    }
  }

  /** Number of services in each state. */
  get states(): [labels: {state: string}, services: number][] {
    const states = new Map<string, number>();
    for (const {state} of this.#records.sound()) states.set(state, (states.get(state) ?? 0) + 1);
    return [...states].map(([state, services]) => [{state}, services]);
  }

  /** Memory of their processes. */
  get bytes(): number {
    let bytes = 0;
    for (const {runner} of this.#running.values()) bytes += runner.bytes;
    return bytes;
  }

  /** Whether any is running, or is about to run. */
  get areWanted(): boolean {
    for (const {desired_state, state} of this.#records.sound())
      if (desired_state === 'running' && state !== 'failed') return true;
    return false;
  }

  /** @throws op.storage_damaged 503 */
  all(): ServiceRecord[] {
    return this.#records.all();
  }

  /** @throws op.not_found 404 */
  get(name: string): ServiceRecord {
    return this.#records.get(name);
  }

  /**
   * @param write performs the write and returns the response; for a repeated request that is an earlier service
   * @throws op.invalid_input 400, op.conflict 409, op.rate_limited 429
   */
  create<T>(body: ServiceBody, write: (store: (writer: Writer) => ServiceRecord) => Promise<T>): Promise<T> {
    const {name} = body;
    return this.#inTurn(name, async () => {
      const host = await this.#host();
      // Deletes what remains of an earlier service's log, in case a process ended between deleting the service and its
      // log.
      if (!this.#records.isTaken(name)) await removeLog(this.#parts.directory, name);
      const stored: ServiceRecord[] = [];
      const answer = await write(writer => {
        // Checked only for a new request: a repeated one gets its earlier response, even if its module is gone.
        const record = newRecord(name, checked(body, host), Math.floor(this.#parts.clock()));
        if (this.#records.isTaken(name)) throw conflict(`there is a service ${name} already; PUT changes it`);
        if (this.#records.size >= SERVICES_MAX) {
          throw rateLimited(`a tenant has at most ${SERVICES_MAX} services; delete some`);
        }
        if (record.autostart) this.#checkMemory(record);
        this.#records.store(writer, record);
        stored.push(record);
        return record;
      });
      for (const made of stored) this.#begin(made);
      return answer;
    });
  }

  #begin(record: ServiceRecord): void {
    const {name, autostart} = record;
    this.#records.took({...record, state: 'stopped'});
    this.#add(name, 'stopped');
    if (autostart) this.#run(name, 'start');
    this.#parts.changed();
  }

  /**
   * A service that runs, or is about to, is restarted with the new definition.
   * @throws op.not_found 404, op.invalid_input 400, op.rate_limited 429
   */
  update(name: string, body: ServiceUpdateBody): Promise<ServiceRecord> {
    if (body.name !== undefined && body.name !== name) {
      throw invalid(`name must be that of the path, ${JSON.stringify(name)}, or be left out`);
    }
    return this.#inTurn(name, async () => {
      this.get(name);
      const definition = checked(body, await this.#host());
      const updated_at = Math.floor(this.#parts.clock());
      const record = await this.#change(name, before => ({...before, ...definition, restarts: 0, updated_at}));
      if (record.desired_state === 'running') this.#run(name, 'restart');
      return this.get(name);
    });
  }

  /** @throws op.not_found 404, op.rate_limited 429 */
  start(name: string): Promise<ServiceRecord> {
    return this.#inTurn(name, async () => {
      await this.#change(name, before => ({...before, desired_state: 'running', ...restartsOf(before)}));
      this.#run(name, 'start');
      return this.get(name);
    });
  }

  /** Resolves when it has stopped. @throws op.not_found 404 */
  stop(name: string): Promise<ServiceRecord> {
    return this.#inTurn(name, async () => {
      await this.#stop(name);
      return this.get(name);
    });
  }

  /** Ends its process, if there is one, and starts another. @throws op.not_found 404, op.rate_limited 429 */
  restart(name: string): Promise<ServiceRecord> {
    return this.#inTurn(name, async () => {
      await this.#change(name, before => ({...before, desired_state: 'running', restarts: 0}));
      this.#run(name, 'restart');
      return this.get(name);
    });
  }

  /** Stops it first. A service with a damaged record does not run, and can be deleted too. @throws op.not_found 404 */
  delete(name: string): Promise<void> {
    return this.#inTurn(name, async () => {
      if (!this.#records.has(name) && this.#records.isTaken(name)) {
        await this.#write(name, () => this.#records.remove(name));
        this.#records.forgot([name]);
        return;
      }
      await this.#stop(name);
      await this.#write(name, () => this.#records.remove(name));
      this.#records.forgot([name]);
      const {log} = this.#running.get(name)!;
      this.#running.delete(name);
      this.#parts.changed();
      await log.remove();
      void this.#aside('to take old code away', () => this.#forgetCode());
    });
  }

  /** GET …/logs. @throws op.not_found 404, op.invalid_input 400 */
  readLog(name: string, to: LogTarget, query: string): Promise<void> {
    this.get(name);
    return this.#running.get(name)!.log.read(to, query);
  }

  /** Restarts services whose starting point has changed; new code also restarts failed ones. */
  committed({events}: Pick<Commit, 'events'>): void {
    let isNewCode = false;
    let isOther = false;
    for (const {type} of events) {
      isOther ||= STARTING_POINTS.has(type);
      isNewCode ||= type === 'deployment.activated';
    }
    if (isOther) void this.#aside('to follow a commit', () => this.#follow(isNewCode));
  }

  /** The worker closes: the processes end, and `desired_state` stays. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running.values()].map(({runner}) => runner.stop(SERVICE_CLOSE_MS_MAX)));
    await Promise.all([...this.#running.values()].map(({log}) => log.close()));
  }

  async #follow(isNewCode: boolean): Promise<void> {
    const host = await this.#host();
    for (const [name, {runner}] of this.#running) {
      if (this.#isClosed || !this.#records.has(name)) return;
      const record = this.get(name);
      if (record.desired_state !== 'running') continue;
      const isActive = runner.state === 'starting' || runner.state === 'running';
      if (isActive && runner.startedWith !== null && runner.startedWith !== pointOf(record, host)) runner.restart();
      else if (isNewCode && (runner.state === 'failed' || runner.state === 'backoff')) runner.start();
    }
  }

  /** Deletes code that no service uses now; the service that ended may have been the last one. */
  async #forgetCode(): Promise<void> {
    const host = await this.#host();
    await host.forgetOthers(() => [...this.#records.sound()]);
  }

  /** Runs work that no request waits for: an error is logged, and the work is repeated at the next occasion. */
  async #aside(what: string, act: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return;
    try {
      await act();
    } catch (caught) {
      const error = refusalOf(caught);
      if (!this.#isClosed) this.#parts.log.warn(`services failed ${what}`, {error: error.cause ?? error});
    }
  }

  async #stop(name: string): Promise<void> {
    await this.#change(name, before => ({...before, desired_state: 'stopped'}));
    await this.#running.get(name)!.runner.stop();
  }

  /** @throws op.not_found 404; op.rate_limited 429 when it is to run and there is no capacity */
  async #change(name: string, change: (before: ServiceRecord) => ServiceRecord): Promise<ServiceRecord> {
    const write = (writer: Writer) => {
      const changed = change(this.get(name));
      if (changed.desired_state === 'running') this.#checkMemory(changed);
      this.#records.store(writer, changed);
      return changed;
    };
    const record = await this.#write(name, write, changed => {
      // Its state may have changed during the write.
      const {state, last_exit, started_at} = this.get(name);
      this.#records.took({...changed, state, last_exit, started_at});
    });
    this.#parts.changed();
    return record;
  }

  /** Performs a requested write; no older record can overwrite it on disk. @param written called when it is on disk */
  async #write<T>(name: string, write: (writer: Writer) => T, written?: (result: T) => void): Promise<T> {
    try {
      const result = await this.#parts.groups.perform(writer => {
        this.#requested.set(name, false);
        return write(writer);
      });
      written?.(result);
      return result;
    } finally {
      const isPending = this.#requested.get(name) === true;
      this.#requested.delete(name);
      if (isPending) this.#writeSoon(name);
    }
  }

  /** @throws op.rate_limited 429 */
  #checkMemory({name, memory_mb}: ServiceRecord): void {
    let sum = memory_mb;
    for (const other of this.#records.sound())
      if (other.name !== name && other.desired_state === 'running') sum += other.memory_mb;
    const {servicesMemoryMbMax: most} = this.#parts;
    if (sum <= most) return;
    throw rateLimited(
      `the services of a tenant that are to run have at most ${most} MiB together, with this one it would be ${sum}; stop some, or give them less memory_mb (the operator sets the limit with --tenant-services-memory-mb)`,
    );
  }

  #add(name: string, state: 'stopped' | 'failed'): Running {
    const {clock, directory, log: serviceLog, metrics} = this.#parts;
    const log = new ServiceLog(directory, name, serviceLog, clock);
    const runner = new ServiceRunner(
      {
        definition: () => this.get(name),
        host: () => this.#host(),
        log,
        clock,
        changed: change => this.#took(name, change),
        failed: error => serviceLog.error('something of a service failed unexpectedly', {service: name, error}),
        ended: ({reason}) => {
          metrics.count('svc_service_exits_total', {reason});
          void this.#aside('to take old code away', () => this.#forgetCode());
        },
      },
      state,
    );
    const running = {runner, log};
    this.#running.set(name, running);
    return running;
  }

  /**
   * Takes effect at once, and is on disk a moment later. During a close nothing is written; `desired_state` is on disk
   * already.
   */
  #took(name: string, change: Partial<ServiceRecord>): void {
    this.#records.took({...this.get(name), ...change});
    this.#parts.changed();
    this.#writeSoon(name);
  }

  #writeSoon(name: string): void {
    if (this.#isClosed || this.#unwritten.has(name)) return;
    this.#unwritten.add(name);
    void this.#parts.background.perform('a service', writer => {
      this.#unwritten.delete(name);
      if (this.#requested.has(name)) this.#requested.set(name, true);
      // It may have been deleted meanwhile.
      else if (this.#records.has(name)) this.#records.store(writer, this.get(name));
    });
  }

  /** A tenant that is being closed starts nothing; its next worker starts the services that are wanted. */
  #run(name: string, how: 'start' | 'restart'): void {
    if (!this.#isClosed) this.#running.get(name)!.runner[how]();
  }

  async #host(): Promise<ServiceHost> {
    return (await this.#parts.functions()).services;
  }

  /** Requests for one service are carried out in order. */
  #inTurn<T>(name: string, act: () => Promise<T>): Promise<T> {
    const actIfOpen = () => {
      if (this.#isClosed) throw tenantClosing();
      return act();
    };
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(actIfOpen);
    const over = turn
      .catch(() => undefined) // The request reports the error.
      .finally(() => {
        if (this.#turns.get(name) === over) this.#turns.delete(name);
      });
    this.#turns.set(name, over);
    return turn;
  }
}

/** @throws op.invalid_input 400 */
function checked(body: ServiceUpdateBody, host: ServiceHost): Definition {
  const {source, env = {}, node_version = null, autostart = true} = body;
  checkEnvironment(env, SERVICE_ENV_CHARS_MAX);
  const {memory_mb = SERVICE_MEMORY_MB_DEFAULT, restart = 'always'} = body;
  const isInline = source.type === 'inline';
  const version = isInline ? (node_version ?? NODE_VERSION_DEFAULT) : node_version;
  const definition = {source: sourceOf(source), env, node_version: version, memory_mb, restart, autostart};
  host.digest(definition);
  return definition;
}

function newRecord(name: string, definition: Definition, nowMs: number): ServiceRecord {
  return {
    name,
    ...definition,
    state: definition.autostart ? 'starting' : 'stopped',
    desired_state: definition.autostart ? 'running' : 'stopped',
    restarts: 0,
    started_at: null,
    last_exit: null,
    created_at: nowMs,
    updated_at: nowMs,
  };
}

/** A requested start resets the counter; a service that runs already keeps it. */
function restartsOf({state, restarts}: ServiceRecord): Pick<ServiceRecord, 'restarts'> {
  return {restarts: state === 'running' || state === 'starting' ? restarts : 0};
}

/** Drops other properties of the body. */
function sourceOf(source: ServiceRecord['source']): ServiceRecord['source'] {
  return source.type === 'module' ? {type: 'module', path: source.path} : {type: 'inline', code: source.code};
}

/** Null: its code no longer exists. */
function pointOf(record: ServiceRecord, host: ServiceHost): string | null {
  try {
    return startingPoint(record, host);
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    return null;
  }
}
