import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {ActionLines} from '../../../worker/runtime/actions/action-lines.ts';
import {ActionHost} from './action-host.ts';

/** Routes in the order of this list. */
const ROUTES = [
  'echo',
  'pulls',
  'throwsBefore',
  'throwsWithin',
  'tooLarge',
  'noResponse',
  'badHeader',
  'ignoresBody',
  'counts',
];
const HTTP = `
  const route = handler => ({handler: {_handler: handler}});
  const encoder = new TextEncoder();
  const stream = pull => new ReadableStream({pull}, {highWaterMark: 0});
  const routes = [
    route(async (_ctx, request) => new Response(request.body, {
      status: 201,
      headers: [['x-method', request.method], ['x-url', request.url], ['x-got', request.headers.get('X-Sent') ?? ''],
        ['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['content-length', '3'], ['connection', 'close']],
    })),
    route(async (ctx) => new Response(stream(async controller => {
      const n = await ctx.runQuery('m:next');
      if (n === 4) controller.close();
      else controller.enqueue(encoder.encode('piece ' + n));
    }))),
    route(async () => { throw new Error('before'); }),
    route(async () => { let n = 0; return new Response(stream(controller => {
      if (n++ === 2) throw new Error('within');
      controller.enqueue(encoder.encode('piece ' + n));
    })); }),
    route(async () => new Response(stream(controller => controller.enqueue(new Uint8Array(1024 * 1024))))),
    route(async () => ({status: 200})),
    route(async () => {
      const response = new Response('x');
      Object.defineProperty(response, 'headers', {value: [['x-bad', 'a\\r\\nx-injected: b']]});
      return response;
    }),
    route(async () => new Response(null, {status: 204})),
    route(async (_ctx, request) => new Response(String((await request.arrayBuffer()).byteLength))),
  ];
  export default {_routes: () => routes};
`;

let host: ActionHost;
beforeAll(() => {
  host = new ActionHost({http: HTTP});
});
afterAll(() => host.close());

const at = (name: string) => ROUTES.indexOf(name);

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

describe('an HTTP action', () => {
  test('streams the request through to its response, head and all', async () => {
    const {
      outcome,
      status,
      headers,
      chunks: got,
    } = await host.http(at('echo'), {headers: [['x-sent', 'yes']]}, {chunks: () => chunks('one ', 'two ', 'three')});
    expect(outcome.ok).toBe(true);
    expect(status).toBe(201);
    expect(got.join('')).toBe('one two three');
    expect(headers).toEqual(
      expect.arrayContaining([
        ['x-method', 'POST'],
        ['x-url', 'https://app.example/x?y=1'],
        ['x-got', 'yes'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ]),
    );
  });

  test('cannot set the headers of the connection', async () => {
    const {headers} = await host.http(at('echo'));
    const names = headers.map(([name]) => name);
    expect(names).not.toContain('content-length');
    expect(names).not.toContain('connection');
  });

  test('makes a piece when the client has taken the one before', async () => {
    const seen: string[] = [];
    let n = 0;
    host.answer = () => {
      seen.push(`made ${++n}`);
      return `+${n}`;
    };
    const {chunks: got} = await host.http(at('pulls'), {}, null, async chunk => {
      await new Promise(resolve => setImmediate(resolve));
      seen.push(`took ${chunk}`);
    });
    expect(got).toEqual(['piece 1', 'piece 2', 'piece 3']);
    expect(seen).toEqual(['made 1', 'took piece 1', 'made 2', 'took piece 2', 'made 3', 'took piece 3', 'made 4']);
  });

  test.each([
    ['throwsBefore', 'before'],
    ['noResponse', 'an HTTP action must return a Response'],
    ['badHeader', 'the header x-bad has no valid value'],
  ])('[51] %s: nothing has gone out when it fails', async (name, message) => {
    const {outcome, status} = await host.http(at(name));
    expect(outcome).toMatchObject({ok: false, error: {message}});
    expect(status).toBe(null);
  });

  test('[51] that throws within its body has sent the pieces before', async () => {
    const {outcome, status, chunks: got} = await host.http(at('throwsWithin'));
    expect(outcome).toMatchObject({ok: false, error: {message: 'within'}});
    expect(status).toBe(200);
    expect(got).toEqual(['piece 1', 'piece 2']);
  });

  test('sends 20 MiB at most, and is warned before', async () => {
    host.lines = new ActionLines();
    const {outcome, chunks: got} = await host.http(at('tooLarge'));
    expect(outcome).toMatchObject({ok: false, error: {name: 'HttpResponseTooLarge'}});
    expect(got).toHaveLength(20);
    expect(host.lines.all).toEqual([expect.stringMatching(/^\[WARN\] The response is large/)]);
  });

  test('fails when the client goes away while it is written to', async () => {
    const {outcome} = await host.http(at('tooLarge'), {}, null, () => Promise.reject(new Error('the client is gone')));
    expect(outcome).toMatchObject({ok: false, error: {message: 'the client is gone'}});
  });

  test('fails when the body it reads breaks off', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10);
      throw new Error('the body broke off');
    }
    const {outcome} = await host.http(at('counts'), {}, {chunks: broken});
    expect(outcome).toMatchObject({ok: false, error: {message: 'the body broke off'}});
  });

  test('need not read the body', async () => {
    const {outcome, status} = await host.http(at('ignoresBody'), {}, {chunks: () => chunks('unread')});
    expect([outcome.ok, status]).toEqual([true, 204]);
  });

  test('reads a large body piece by piece', async () => {
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 10; i++) yield new Uint8Array(1024 * 1024);
    }
    const {chunks: got} = await host.http(at('counts'), {}, {chunks: large});
    expect(got).toEqual([String(10 * 1024 * 1024)]);
  });
});
