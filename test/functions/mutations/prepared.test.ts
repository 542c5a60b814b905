/** What a mutation needs is there before its write begins: in the write, all others of its group wait for it. */
import {afterEach, describe, expect, test, vi} from 'vitest';
import {MutationRunner} from '../../../worker/functions/mutations/mutation-runner.ts';
import {FUNCTIONS_PROCESS_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {SERVER} from '../deployments/tenant-deployments.ts';
import {MutationCalls} from './mutation-calls.ts';

const source = (version: number) => `${SERVER}
  export const version = mutation({handler: () => ${version}});
  export const loops = mutation({handler: () => { while (true) {} }});
  export const named = mutation({args: {name: v.string()}, handler: (ctx, {name}) => name});`;

afterEach(() => void vi.restoreAllMocks());

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
