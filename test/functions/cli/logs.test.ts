import type {ServerResponse} from 'node:http';
import {afterEach, describe, expect, test} from 'vitest';
import {showLogs} from '../../../cli/logs.ts';
import {until} from '../../harness/until.ts';
import {FakeServer, refusing} from './fake-server.ts';

let server: FakeServer;
afterEach(() => server.stop());

/** The n-th execution of a process whose requests have names of their own. */
function entry(n: number, at: number, life = 'first'): string {
  const rest = {
    path: 'a:f',
    kind: 'query',
    caller: 'client',
    outcome: 'success',
    duration_ms: 1,
    error: null,
    lines: [],
  };
  return JSON.stringify({n, at, request_id: `${life}-${n}`, ...rest});
}

const ending =
  (...lines: string[]) =>
  (response: ServerResponse) =>
    void response.end(lines.map(line => `${line}\n`).join(''));
const staying =
  (...lines: string[]) =>
  (response: ServerResponse) =>
    void response.write(lines.map(line => `${line}\n`).join(''));
const breaking =
  (...lines: string[]) =>
  (response: ServerResponse) =>
    void response.write(lines.map(line => `${line}\n`).join(''), () => response.destroy());

/** Follows until as many entries are shown. */
async function follow(history: number, count: number): Promise<string[]> {
  const shown: string[] = [];
  const ended = new AbortController();
  const options = {history, jsonl: true, follow: true} as const;
  const running = showLogs(await server.target('t'), options, text => void shown.push(text.trimEnd()), ended.signal);
  await Promise.race([running, until(`${count} entries`, () => shown.length >= count)]);
  ended.abort();
  await running;
  return shown;
}

describe('a log that is followed', () => {
  test.each([
    ['ends', ending],
    ['breaks off', breaking],
  ])('goes on when the connection %s, and shows nothing twice', async (_how, closing) => {
    const [a, b, c, d] = [entry(1, 10), entry(2, 20), entry(3, 30), entry(4, 40)];
    server = await FakeServer.start([ending(a, b), closing(a, b, '', c), staying(a, b, c, d)]);
    expect(await follow(2, 4)).toEqual([a, b, c, d]);
    expect(server.requests.slice(0, 2)).toEqual([
      'GET /api/tenants/t/logs?history=2&follow=false',
      'GET /api/tenants/t/logs?history=1000&follow=true',
    ]);
  });

  test('goes on with another process of the tenant, whose numbers begin again', async () => {
    const [a, again] = [entry(1, 10), entry(1, 50, 'second')];
    server = await FakeServer.start([
      ending(a),
      ending(a, ''),
      refusing(503, 'session.worker_unavailable'),
      staying(again),
    ]);
    expect(await follow(1, 2)).toEqual([a, again]);
  });

  test('without a history shows only what is new', async () => {
    const [a, b, c] = [entry(1, 10), entry(2, 20), entry(3, 30)];
    server = await FakeServer.start([ending(b), staying(a, b, '', c)]);
    expect(await follow(0, 1)).toEqual([c]);
  });

  test('ends when the tenant is gone', async () => {
    server = await FakeServer.start([ending(), refusing(404, 'session.tenant_not_found')]);
    await expect(follow(0, 1)).rejects.toThrow('session.tenant_not_found');
  });
});
