/** What a Node process writes to its standard error costs its worker a bounded part of each moment. */
import {EventEmitter, once} from 'node:events';
import {PassThrough} from 'node:stream';
import {expect, test, vi} from 'vitest';
import {NODE_READ_INTERVAL_MS, NODE_STDERR_CHUNKS_MAX} from '../../../worker/runtime/limits.ts';
import {type NodeEnd, NodeProcess} from '../../../worker/runtime/node/node-process.ts';

const {child} = vi.hoisted(() => ({child: {current: null as unknown}}));
vi.mock('node:child_process', async importActual => ({
  ...(await importActual<typeof import('node:child_process')>()),
  spawn: () => child.current,
}));

test('so much of it is read in a moment, and the end of it tells of the death', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  const stderr = new PassThrough({highWaterMark: 1});
  const spawned = Object.assign(new EventEmitter(), {kill: () => true, stdio: [], stderr});
  child.current = spawned;
  const ended = Promise.withResolvers<NodeEnd>();
  new NodeProcess(
    {
      code: {version: '22', binary: 'node', root: '/'},
      env: {},
      egress: null,
      parentWatch: {command: []},
    },
    {onReady: vi.fn(), onAlive: vi.fn(), onMessage: vi.fn(), onEnd: ended.resolve},
  );
  const turn = () => new Promise(resolve => setImmediate(resolve));
  for (let n = 0; n < NODE_STDERR_CHUNKS_MAX; n++) {
    stderr.write('x'.repeat(65_536));
    await turn();
  }
  expect(stderr.isPaused()).toBe(true);
  vi.advanceTimersByTime(NODE_READ_INTERVAL_MS);
  expect(stderr.isPaused()).toBe(false);
  for (let n = 0; n < NODE_STDERR_CHUNKS_MAX; n++) {
    stderr.write('x'.repeat(65_536));
    await turn();
  }
  expect(stderr.isPaused()).toBe(true);
  // It dies meanwhile: its last words are not what waits.
  stderr.end('it broke');
  spawned.emit('exit', 1, null);
  await once(stderr, 'close');
  vi.useRealTimers();
  spawned.emit('close', 1, null);
  expect((await ended.promise).message).toContain('it broke');
});
