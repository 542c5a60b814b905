import {afterEach, describe, expect, test} from 'vitest';
import {answering, breakingOff, FakeServer, refusing} from './fake-server.ts';

let server: FakeServer;
afterEach(() => server.stop());

const call = async () => (await server.target('a')).client.ask('crons.run', ['a', 'b'], {repeat: 'once'});

describe('what must not happen twice', () => {
  test.each(['session.worker_unavailable', 'session.overloaded'])('is sent again after %s', async code => {
    server = await FakeServer.start([refusing(503, code), refusing(503, code), answering('done')]);
    expect(await call()).toBe('done');
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['session.outcome_unknown', refusing(503, 'session.outcome_unknown'), 'refused: session.outcome_unknown'],
    [
      'a function that was started',
      refusing(503, 'session.overloaded', {started: true, cpu_ms: 600, wall_ms: 4_000}),
      'refused: session.overloaded',
    ],
    ['a refusal', refusing(400, 'op.invalid_input'), 'refused: op.invalid_input'],
    ['a broken connection', breakingOff, 'failed'],
  ])('is not sent again after %s', async (_what, answer, message) => {
    server = await FakeServer.start([answer]);
    await expect(call()).rejects.toThrow(message);
    expect(server.requests).toHaveLength(1);
  });
});
