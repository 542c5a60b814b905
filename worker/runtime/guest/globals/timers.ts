/**
 * Timers, `queueMicrotask`, `fetch` and `WebSocket`. Actions have them; in other functions and while modules load, the
 * calls are refused.
 */
import {ActionWebSocket, actionFetch} from '../actions/network.ts';
import {startTimer, stopTimer} from '../actions/timers.ts';
import {state} from '../state.ts';
import {bindContext} from './async-hooks.ts';
import {define, defineLazily} from './define.ts';
import {requireAction} from './phase.ts';

const start = (name: 'setTimeout' | 'setInterval', callback: unknown, delay: unknown, args: unknown[]): number => {
  requireAction(name, name, '');
  if (typeof callback !== 'function')
    throw new TypeError(`Not implemented: ${name} with a handler that is no function`);
  return startTimer(bindContext(callback as () => unknown), delay as number, args, name === 'setInterval');
};

const clear = (id?: unknown): void => {
  // In other phases there is no timer to clear.
  if (state.phase === 'action' && id !== undefined) stopTimer(id as number);
};

const GLOBALS = {
  setTimeout: (callback?: unknown, delay?: unknown, ...args: unknown[]) => start('setTimeout', callback, delay, args),
  setInterval: (callback?: unknown, delay?: unknown, ...args: unknown[]) => start('setInterval', callback, delay, args),
  clearTimeout: (id?: unknown) => clear(id),
  clearInterval: (id?: unknown) => clear(id),
  queueMicrotask: (callback?: unknown): void => {
    if (typeof callback !== 'function') throw new TypeError('queueMicrotask: the callback must be a function');
    const bound = bindContext(callback as () => unknown);
    void settled.then(() => bound());
  },
  fetch: async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    requireAction('fetch', 'fetch()', '.');
    const request = new Request(input as string, init);
    if (!/^https?:/.test(request.url)) throw new TypeError('Unsupported URL scheme');
    return actionFetch(request);
  },
};

/** Its `then` uses V8's microtask queue. A callback that throws becomes an unhandled rejection. */
const settled = Promise.resolve();

export function installTimers(): void {
  for (const [name, value] of Object.entries(GLOBALS)) define(globalThis, name, value);
  defineLazily('WebSocket', () => {
    class WebSocket extends ActionWebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        requireAction('WebSocket', 'WebSocket', '.');
        super(url, protocols);
      }
    }
    return WebSocket;
  });
}
