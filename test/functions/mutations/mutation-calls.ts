/** Calls of mutations without a service: real deployments, commit groups and isolates. */
import {vi} from 'vitest';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {type Call, Functions} from '../../../worker/functions/functions.ts';
import {MutationRunner} from '../../../worker/functions/mutations/mutation-runner.ts';
import type {LiveDeployment} from '../../../worker/runtime/call.ts';
import type {CallResult} from '../../../worker/runtime/call-result.ts';
import {Realm} from '../../../worker/runtime/isolate/realm.ts';
import {ProcessMemory} from '../../../worker/runtime/process-memory.ts';
import {SourcePositions} from '../../../worker/runtime/source-positions.ts';
import {TenantDeployments} from '../deployments/tenant-deployments.ts';

export class MutationCalls {
  readonly tenant = new TenantDeployments();
  readonly #env = {};
  readonly #runner = new MutationRunner(this.tenant.writer, this.tenant.writer.db, () => this.#live()?.table ?? null);
  readonly functions: Functions;
  #served: LiveDeployment | null = null;
  /** Whether a transaction was open, for each time that modules were loaded. */
  readonly loads: boolean[] = [];
  /** What the process takes. */
  bytes = 0;

  constructor() {
    const {load, has} = Realm.prototype;
    const {loads} = this;
    const {db} = this.tenant.writer;
    vi.spyOn(Realm.prototype, 'load').mockImplementation(function (this: Realm, path, timeoutMs) {
      if (!has.call(this, path)) loads.push(db.inTransaction);
      load.call(this, path, timeoutMs);
    });
    this.functions = new Functions({
      groups: this.tenant.groups,
      catalog: this.tenant.writer.catalog,
      mutations: this.#runner,
      memory: new ProcessMemory(() => this.bytes),
      results: null as never,
      actions: null as never,
      nodeActions: null as never,
      log: {add: () => undefined} as never,
      metrics: new WorkerMetrics(),
      live: () => this.#live(),
      writing: () => this.#live(),
      env: () => this.#env,
      egress: null as never,
      clock: Date.now,
      redactErrors: false,
    });
  }

  call(path: string, args: unknown = {}): Promise<CallResult> {
    const call: Call = {path, args, kind: 'mutation', origin: 'client', caller: {identity: null}, requestId: 'r'};
    return this.functions.call(call);
  }

  close(): void {
    this.#runner.close();
  }

  #live(): LiveDeployment | null {
    const {active} = this.tenant.deployments;
    if (active === null) return null;
    if (this.#served?.table === active) return this.#served;
    const {id, timestampMs, seed} = active;
    this.#served = {code: {id, timestampMs, seed}, table: active, positions: new SourcePositions(() => null)};
    return this.#served;
  }
}
