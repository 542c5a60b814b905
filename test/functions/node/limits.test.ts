/** The limits of time of Node actions and their processes, as documented, by a clock that is set. Processes are played. */
import {EventEmitter} from 'node:events';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {ActionLink} from '../../../worker/runtime/actions/action-link.ts';
import type {ActionRequest} from '../../../worker/runtime/actions/action-message.ts';
import {ACTION_CPU_MS_MAX, ACTION_MS_MAX, NODE_IDLE_MS, NODE_POLL_MS} from '../../../worker/runtime/limits.ts';
import {NodeMember} from '../../../worker/runtime/node/node-member.ts';
import {frame} from '../../../worker/runtime/node/node-message.ts';
import {type NodeEnd, NodeProcess, type NodeProcessEvents} from '../../../worker/runtime/node/node-process.ts';
import {NodeRun} from '../../../worker/runtime/node/node-run.ts';

/** Of the process that is played, in the kernel's ticks of 10 ms. */
const played = vi.hoisted(() => ({ticks: 0, channel: null as unknown as EventEmitter}));
vi.mock('node:child_process', async importActual => ({
  ...(await importActual<typeof import('node:child_process')>()),
  spawn: () => {
    const channel = Object.assign(new EventEmitter(), {write: () => true, writable: true, destroy: () => undefined});
    played.channel = channel;
    const child = Object.assign(new EventEmitter(), {
      pid: 2 ** 30,
      stdio: [null, null, null, channel],
      stderr: new EventEmitter(),
      kill: (signal: string) => child.emit('close', null, signal),
    });
    return child;
  },
}));
vi.mock('node:fs', async importActual => {
  const actual = await importActual<typeof import('node:fs')>();
  const readFileSync = (path: string, ...rest: [BufferEncoding]) =>
    path === `/proc/${2 ** 30}/stat`
      ? `1 (node) ${'0 '.repeat(11)}${played.ticks} 0 0`
      : actual.readFileSync(path, ...rest);
  return {...actual, readFileSync};
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CODE = {version: '22', binary: 'node', root: '/'} as const;
const ENV = {};
const REQUEST = {args: '', env: ENV, egress: null} as unknown as ActionRequest;
const LINK = {lines: {add: () => undefined}} as unknown as ActionLink;

function started(events: Partial<NodeProcessEvents>): NodeProcess {
  const all = {onReady: vi.fn(), onAlive: vi.fn(), onMessage: vi.fn(), onEnd: vi.fn(), ...events};
  const process = new NodeProcess({code: CODE, env: ENV, egress: null, parentWatch: {command: []}}, all);
  played.channel.emit('data', frame({type: 'ready', text: ''}));
  return process;
}

test('an action in Node has 10 minutes, and not a millisecond less', async () => {
  const onTimeOut = vi.fn();
  const run = new NodeRun(1, REQUEST, LINK, onTimeOut);
  await vi.advanceTimersByTimeAsync(ACTION_MS_MAX - 1);
  expect(run.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await run.ended).toEqual({
    ok: false,
    error: {name: 'Error', message: 'Function execution timed out (maximum duration: 600s)', stack: null},
  });
  expect(onTimeOut).toHaveBeenCalledTimes(1);
});

describe('a process that computes without answering', () => {
  test('has 30 s of CPU time, however long that takes', async () => {
    played.ticks = 7;
    const ended: NodeEnd[] = [];
    const process = started({onEnd: end => ended.push(end)});
    process.watch(true);
    played.ticks += ACTION_CPU_MS_MAX / 10;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ended).toEqual([]);
    played.ticks++;
    await vi.advanceTimersByTimeAsync(NODE_POLL_MS);
    expect(ended).toEqual([{cause: 'time', message: 'Function execution timed out (maximum CPU time: 30s)'}]);
  });

  test('has them anew from each answer on', async () => {
    played.ticks = 0;
    const onEnd = vi.fn();
    started({onEnd}).watch(true);
    for (let i = 0; i < 5; i++) {
      played.ticks += 2_900;
      played.channel.emit('data', frame({type: 'alive', text: ''}));
      await vi.advanceTimersByTimeAsync(NODE_POLL_MS);
    }
    expect(onEnd).not.toHaveBeenCalled();
  });
});

test('a process without calls stays for half a minute after its last one, and then ends', async () => {
  const ends: NodeEnd[] = [];
  const member = new NodeMember(CODE, REQUEST, NODE_IDLE_MS, {
    open: events => started(events),
    onFree: () => undefined,
    onEnd: end => ends.push(end),
  });
  const call = async (action: number) => {
    const run = new NodeRun(action, REQUEST, LINK, () => undefined);
    member.take(run);
    played.channel.emit('data', frame({type: 'begun', action, text: ''}));
    played.channel.emit('data', frame({type: 'outcome', action, ok: true, text: 'null'}));
    await run.ended;
  };
  await call(1);
  await vi.advanceTimersByTimeAsync(NODE_IDLE_MS - 1);
  await call(2);
  await vi.advanceTimersByTimeAsync(NODE_IDLE_MS - 1);
  expect(ends).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toEqual([{cause: 'told', message: 'it was replaced'}]);
});
