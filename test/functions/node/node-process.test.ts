/** A Node process that does not come to be: its owner gets an error, and nothing else ends. */
import {EventEmitter} from 'node:events';
import {expect, test, vi} from 'vitest';
import {type NodeEnd, NodeProcess} from '../../../worker/runtime/node/node-process.ts';

vi.mock('node:child_process', async importActual => ({
  ...(await importActual<typeof import('node:child_process')>()),
  // As Node does when there are no descriptors left.
  spawn: () => {
    const child = Object.assign(new EventEmitter(), {kill: () => false});
    process.nextTick(() => child.emit('error', new Error('spawn node EMFILE')));
    return child;
  },
}));

test('without descriptors it has not started, and says so', async () => {
  const ended = await new Promise<NodeEnd>(resolve => {
    const code = {version: '22', binary: 'node', root: '/'} as const;
    const settings = {
      code,
      env: {},
      egress: {socketPath: '/x', secret: '', policy: {allow: [], deny: []}},
      parentWatch: {command: []},
    };
    const events = {onReady: vi.fn(), onAlive: vi.fn(), onMessage: vi.fn(), onEnd: resolve};
    const started = new NodeProcess(settings, events);
    started.watch(true);
    started.hear(false);
    expect(started.bytes).toBe(0);
  });
  expect(ended).toEqual({cause: 'start', message: 'spawn node EMFILE'});
});
