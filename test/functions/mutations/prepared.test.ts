/** What a mutation needs is there before its write begins: in the write, all others of its group wait for it. */
import {afterEach, describe, expect, test, vi} from 'vitest';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {type Call, Functions} from '../../../worker/functions/functions.ts';
import {MutationRunner} from '../../../worker/functions/mutations/mutation-runner.ts';
import type {LiveDeployment} from '../../../worker/runtime/call.ts';
import type {CallResult} from '../../../worker/runtime/call-result.ts';
import {Realm} from '../../../worker/runtime/isolate/realm.ts';
import {FUNCTIONS_PROCESS_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {ProcessMemory} from '../../../worker/runtime/process-memory.ts';
import {SourcePositions} from '../../../worker/runtime/source-positions.ts';
import {SERVER, TenantDeployments} from '../deployments/tenant-deployments.ts';

const source = (version: number) => `${SERVER}
  export const version = mutation({handler: () => ${version}});
  export const loops = mutation({handler: () => { while (true) {} }});
  export const named = mutation({args: {name: v.string()}, handler: (ctx, {name}) => name});`;

afterEach(() => void vi.restoreAllMocks());

class MutationCalls {
  readonly tenant = new TenantDeployments();
  readonly #env = {};
  readonly #runner = new MutationRunner(this.tenant.writer, this.tenant.writer.db, () => this.#live()?.table ?? null);
  readonly #functions: Functions;
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
    this.#functions = new Functions({
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
    return this.#functions.call(call);
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

describe('modules of mutations are loaded outside of every transaction', () => {
  test('at the first call, and after deploys that overtake calls which are waiting', async () => {
    const calls = new MutationCalls();
    await calls.tenant.deploy({'m.ts': source(1)});
    expect(await calls.call('m:version')).toMatchObject({ok: true, value: '1'});
    expect(calls.loads).toEqual([false]);
    const versions: string[] = [];
    let isDeployed = false;
    const callOn = async () => {
      while (!isDeployed) {
        const result = await calls.call('m:version');
        versions.push(result.ok ? result.value : result.error);
      }
    };
    const deployed = calls.tenant.deploy({'m.ts': source(2)}).then(() => {
      isDeployed = true;
    });
    await Promise.all([deployed, callOn(), callOn(), callOn()]);
    expect(await calls.call('m:version')).toMatchObject({value: '2'});
    expect(versions).toEqual(versions.toSorted());
    expect(calls.loads).toEqual([false, false]);
    calls.close();
  });

  test('after a mutation that timed out in the same group', async () => {
    const calls = new MutationCalls();
    await calls.tenant.deploy({'m.ts': source(1)});
    const results = await Promise.all(['m:version', 'm:loops', 'm:version', 'm:version'].map(path => calls.call(path)));
    expect(results.map(({ok}) => ok)).toEqual([true, false, true, true]);
    expect(calls.loads.length).toBeGreaterThan(1);
    expect(calls.loads).not.toContain(true);
    calls.close();
  });

  test('none starts while the worker has too little memory', async () => {
    const calls = new MutationCalls();
    await calls.tenant.deploy({'m.ts': source(1)});
    calls.bytes = FUNCTIONS_PROCESS_BYTES_MAX + 1;
    await expect(calls.call('m:version')).rejects.toMatchObject({code: 'session.overloaded'});
    expect(calls.loads).toEqual([]);
    calls.close();
  });

  test('one that got no time on a busy machine says what it had, and that it was started', async () => {
    const calls = new MutationCalls();
    await calls.tenant.deploy({'m.ts': source(1)});
    const {run} = MutationRunner.prototype;
    vi.spyOn(MutationRunner.prototype, 'run').mockImplementation(function (this: MutationRunner, ...parameters) {
      return {...run.apply(this, parameters), starved: 'over', had: {cpuMs: 600, wallMs: 4_000}};
    });
    await expect(calls.call('m:version')).rejects.toMatchObject({
      code: 'session.overloaded',
      message: expect.stringContaining('(0.6 s of 1.0 s of CPU, in 4.0 s of the clock)'),
      detail: {started: true, cpu_ms: 600, wall_ms: 4_000},
    });
    calls.close();
  });

  test('arguments that do not fit are refused before there is a write', async () => {
    const calls = new MutationCalls();
    await calls.tenant.deploy({'m.ts': source(1)});
    const submit = vi.spyOn(calls.tenant.groups, 'submit');
    const result = await calls.call('m:named', {name: 1});
    expect(result).toMatchObject({ok: false, error: expect.stringContaining('ArgumentValidationError')});
    expect(submit).not.toHaveBeenCalled();
    calls.close();
  });
});
