/** A time-out for what comes over the event loop: a stall of the loop is nobody's silence. */
import {once} from 'node:events';
import {type AddressInfo, connect, createServer} from 'node:net';
import {afterEach, expect, onTestFinished, test, vi} from 'vitest';
import {AwakeTimeout} from '../../shared/awake-timeout.ts';

afterEach(() => vi.useRealTimers());

/** Nothing of this thread runs meanwhile. */
const stall = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('what arrived during a stall is read before anybody is said to have been silent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = await once(server, 'connection');
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  const timeoutMs = 200;
  const outcome = await new Promise<string>(resolve => {
    const timeout = new AwakeTimeout(timeoutMs, () => resolve('timed out'));
    socket.once('data', () => {
      timeout.clear();
      resolve('heard');
    });
    // Written to the kernel, and then nobody listens for much longer than the time-out.
    client.write('hello', () => stall(4 * timeoutMs));
  });
  expect(outcome).toBe('heard');
});

test('it ends a silence in which the loop was turning, after that time, once', () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
  const callback = vi.fn();
  new AwakeTimeout(10_000, callback);
  vi.advanceTimersByTime(9_999);
  expect(callback).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(callback).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(60_000);
  expect(callback).toHaveBeenCalledTimes(1);
});

test('one that is cleared ends nothing', () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
  const callback = vi.fn();
  const timeout = new AwakeTimeout(10_000, callback);
  vi.advanceTimersByTime(5_000);
  timeout.clear();
  vi.advanceTimersByTime(60_000);
  expect(callback).not.toHaveBeenCalled();
});
