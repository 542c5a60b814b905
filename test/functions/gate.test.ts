/** When the function platform is loaded, and what happens when that fails. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {Commit} from '../../engine/commit/commit.ts';
import {createLogger} from '../../shared/log.ts';
import {FunctionGate, type GateLoads} from '../../worker/functions/gate.ts';
import {FUNCTIONS_WARM_DELAY_MS} from '../../worker/functions/limits.ts';
import type {FunctionPlatform, PlatformParts} from '../../worker/functions/platform.ts';
import type {FunctionIsolates} from '../../worker/runtime/isolate-process/function-isolates.ts';

type Load = {succeed(): void; fail(error: Error): void};

let logged: string[];
let loads: Load[];
let closes: number;
let jobs: string[];
let commits: number;
let starts: number;
let ends: number;

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  logged = [];
  loads = [];
  closes = 0;
  jobs = [];
  commits = 0;
  starts = 0;
  ends = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

/** A platform that only says what is asked of it. */
const platform = {
  close: () => Promise.resolve(void closes++),
  committed: () => void commits++,
  prepareJob: (path: string) => void jobs.push(`prepare ${path}`),
  runJob: (_writer: unknown, _job: string, path: string) => void jobs.push(`run ${path}`),
} as unknown as FunctionPlatform;

function gateOf(tenant: {activeDeployment?: string} = {}): FunctionGate {
  const loadsOfTest: GateLoads = {
    isolates: () => {
      starts++;
      return Promise.resolve({close: () => Promise.resolve(void ends++)} as unknown as FunctionIsolates);
    },
    platform: (_parts, isolates) =>
      new Promise((resolve, reject) => {
        isolates.catch(reject);
        loads.push({succeed: () => resolve(platform), fail: reject});
      }),
  };
  const writer = {statements: {meta: {get: () => tenant.activeDeployment}}};
  const log = createLogger({process: 'worker'}, {write: (line: string) => void logged.push(line)});
  return new FunctionGate({writer, log} as unknown as PlatformParts, loadsOfTest);
}

const UNAVAILABLE = {code: 'session.worker_unavailable'};

describe('the function platform is loaded with the first need', () => {
  test('once, however many need it', async () => {
    const gate = gateOf();
    const both = [gate.loaded(), gate.loaded()];
    expect(gate.platform).toBeNull();
    loads[0]!.succeed();
    expect(await Promise.all(both)).toEqual([platform, platform]);
    expect(await gate.loaded()).toBe(platform);
    expect(gate.platform).toBe(platform);
    expect(loads).toHaveLength(1);
  });

  test('soon after the opening of a tenant with a deployment, but not at once', () => {
    gateOf({activeDeployment: '1'}).warm();
    expect(loads).toHaveLength(0);
    vi.advanceTimersByTime(FUNCTIONS_WARM_DELAY_MS);
    expect(loads).toHaveLength(1);
  });

  test('not at the opening of a tenant without one', () => {
    gateOf().warm();
    vi.advanceTimersByTime(1_000_000);
    expect(loads).toHaveLength(0);
    expect(starts).toBe(0);
  });

  test('and the process of its isolates starts with the opening, once', async () => {
    const gate = gateOf({activeDeployment: '1'});
    gate.warm();
    expect(starts).toBe(1);
    const loaded = gate.loaded();
    loads[0]!.succeed();
    await loaded;
    expect(starts).toBe(1);
    await gate.close();
    expect({ends, closes}).toEqual({ends: 0, closes: 1}); // the platform ends it
  });

  test("before the write of a function's job, which then runs", async () => {
    const gate = gateOf();
    const prepared = gate.prepareJob('messages:send');
    loads[0]!.succeed();
    expect(await prepared).toBe(true);
    gate.runJob({} as never, 'job', 'messages:send', {});
    expect(jobs).toEqual(['prepare messages:send', 'run messages:send']);
  });
});

describe('a commit', () => {
  test('is for the platform once it is loaded: one that is loaded later reads what was stored', async () => {
    const gate = gateOf();
    gate.committed({} as Commit);
    const loaded = gate.loaded();
    loads[0]!.succeed();
    await loaded;
    expect(commits).toBe(0);
    gate.committed({} as Commit);
    expect(commits).toBe(1);
  });
});

describe('when it cannot be loaded', () => {
  test('callers that wait are refused with 503, one line says why, and the next need tries again', async () => {
    const gate = gateOf();
    const waiting = [gate.loaded(), gate.loaded()];
    loads[0]!.fail(new Error('no such file'));
    const outcomes = await Promise.allSettled(waiting);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({status: 'rejected', reason: {...UNAVAILABLE, status: 503}});
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('no such file');
    expect({starts, ends}).toEqual({starts: 1, ends: 1});
    const again = gate.loaded();
    loads[1]!.succeed();
    expect(await again).toBe(platform);
    expect(starts).toBe(2);
  });

  test('a job is not run now', async () => {
    const gate = gateOf();
    const prepared = gate.prepareJob('messages:send');
    loads[0]!.fail(new Error('no such file'));
    expect(await prepared).toBe(false);
    expect(jobs).toEqual([]);
  });

  test('nobody is harmed by a load that nobody waits for', async () => {
    const gate = gateOf({activeDeployment: '1'});
    gate.warm();
    vi.advanceTimersByTime(FUNCTIONS_WARM_DELAY_MS);
    loads[0]!.fail(new Error('no such file'));
    await gate.close();
    expect(logged).toHaveLength(1);
  });
});

describe('closing', () => {
  test('waits for a load under way, and closes what it brought', async () => {
    const gate = gateOf();
    const waiting = gate.loaded();
    const closed = gate.close();
    expect(closes).toBe(0);
    loads[0]!.succeed();
    await closed;
    expect(closes).toBe(1);
    expect(await waiting).toBe(platform);
  });

  test('ends the wait for a load that has not begun, and nothing is loaded afterwards', async () => {
    const gate = gateOf({activeDeployment: '1'});
    gate.warm();
    await gate.close();
    expect(ends).toBe(1);
    vi.advanceTimersByTime(FUNCTIONS_WARM_DELAY_MS);
    await expect(gate.loaded()).rejects.toMatchObject(UNAVAILABLE);
    expect(loads).toHaveLength(0);
    expect(closes).toBe(0);
  });
});
