/** How long the process of isolate sandboxes stays, by a clock that is set. Its processes are played. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {SANDBOX_PROCESS_IDLE_MS} from '../../worker/control/limits.ts';
import {SandboxHosts, type Wanted} from '../../worker/control/sandbox-hosts.ts';

const processes = vi.hoisted(() => [] as {isOver: boolean}[]);
vi.mock('../../worker/control/sandbox-process.ts', () => ({
  SandboxProcess: class {
    isOver = false;
    constructor() {
      processes.push(this);
    }
    open = () => Promise.resolve();
    end = () => {
      this.isOver = true;
    };
  },
}));

const ISOLATE: Wanted = {id: 'a', memory_mb: 8, cpu_ms: 1, env: {}, network: false, node_version: null};
let hosts: SandboxHosts;
beforeEach(() => {
  vi.useFakeTimers();
  processes.length = 0;
  const parts = {functions: vi.fn(), egress: vi.fn(), log: createLogger({}, {write: () => undefined})};
  hosts = new SandboxHosts(parts, {broken: vi.fn(), ended: vi.fn()});
});
afterEach(() => {
  hosts.close();
  vi.useRealTimers();
});
const over = () => processes.map(({isOver}) => isOver);

test('the process of isolate sandboxes ends 10 s after the last of them, and not before', async () => {
  await hosts.open(ISOLATE);
  hosts.rest(false);
  await vi.advanceTimersByTimeAsync(SANDBOX_PROCESS_IDLE_MS - 1);
  expect(over()).toEqual([false]);
  await vi.advanceTimersByTimeAsync(1);
  expect(over()).toEqual([true]);
  expect(SANDBOX_PROCESS_IDLE_MS).toBe(10_000);
});

test('it stays while there is a sandbox, and for one that is made meanwhile', async () => {
  await hosts.open(ISOLATE);
  hosts.rest(true);
  await vi.advanceTimersByTimeAsync(10 * SANDBOX_PROCESS_IDLE_MS);
  hosts.rest(false);
  await vi.advanceTimersByTimeAsync(SANDBOX_PROCESS_IDLE_MS - 1);
  await hosts.open({...ISOLATE, id: 'b'});
  await vi.advanceTimersByTimeAsync(10 * SANDBOX_PROCESS_IDLE_MS);
  expect(over()).toEqual([false]);
});

test('after its end another is started for the next sandbox', async () => {
  await hosts.open(ISOLATE);
  hosts.rest(false);
  await vi.advanceTimersByTimeAsync(SANDBOX_PROCESS_IDLE_MS);
  await hosts.open(ISOLATE);
  expect(over()).toEqual([true, false]);
});

test('a tenant that is being closed makes none', async () => {
  hosts.close();
  expect(() => hosts.open(ISOLATE)).toThrow('is being closed');
});
