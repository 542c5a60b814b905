/** What the process of a service may say that is none of ours: it is answered, and costs the server's log a few lines. */
import {beforeEach, expect, test, vi} from 'vitest';
import {SERVICE_FAILURES_LOGGED_MAX} from '../../../worker/control/limits.ts';
import {ServiceProcess, type ServiceProcessEvents} from '../../../worker/control/services/service-process.ts';
import type {NodeProcessEvents} from '../../../worker/runtime/node/node-process.ts';

let said: NodeProcessEvents['onMessage'];
let answers: string[];

vi.mock('../../../worker/runtime/node/node-process.ts', () => ({
  NodeProcess: class {
    readonly pid = undefined;
    constructor(_: unknown, events: NodeProcessEvents) {
      said = events.onMessage;
    }
    watch(): void {}
    hear(): void {}
    kill(): void {}
    send(_: unknown, text = ''): void {
      answers.push(text);
    }
  },
}));
beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  answers = [];
});

test('operations without sense are refused, and the first of them are in the log of the server', async () => {
  const events = {began: vi.fn(), line: vi.fn(), failed: vi.fn(), ended: vi.fn()} satisfies ServiceProcessEvents;
  new ServiceProcess(
    {name: 'it', laidOut: {}, memoryMb: 32} as unknown as ConstructorParameters<typeof ServiceProcess>[0],
    events,
  );
  for (let call = 0; call < 10 * SERVICE_FAILURES_LOGGED_MAX; call++)
    said({type: 'start', action: 0, call, operation: 'watch', text: '{'});
  await vi.waitFor(() => expect(answers).toHaveLength(10 * SERVICE_FAILURES_LOGGED_MAX));
  expect(answers.every(answer => answer.startsWith('-{'))).toBe(true);
  expect(events.failed).toHaveBeenCalledTimes(SERVICE_FAILURES_LOGGED_MAX);
  vi.useRealTimers();
});
