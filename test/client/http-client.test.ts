/** 9.2 */
import {describe, expect, test} from 'vitest';
import {SvcHttpClient, type SvcHttpClientOptions} from '../../sdk/browser/http-client.ts';
import {anyApi, makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {settled, stateOf} from './scripted-server.ts';

type Request = {url: string; headers: Record<string, string>; body: unknown};

/** Requests wait until the test answers them, oldest first. */
function scripted(options: SvcHttpClientOptions = {}) {
  const requests: Request[] = [];
  const waiting: {answer: (status: number, text: string) => void; fail: (error: Error) => void}[] = [];
  const said: string[] = [];
  const line = (level: string) => (text: unknown) => void said.push(`${level}: ${text}`);
  const client = new SvcHttpClient('https://svc.example/svc/acme/', {
    fetch: (url, {headers, body}) => {
      requests.push({url, headers, body: JSON.parse(body)});
      return new Promise((resolve, reject) =>
        waiting.push({
          answer: (status, text) => resolve({ok: status < 400, status, text: async () => text}),
          fail: reject,
        }),
      );
    },
    logger: {log: line('log'), warn: line('warn'), error: line('error')},
    ...options,
  });
  const answer = async (body: unknown, status = 200) => {
    waiting.shift()!.answer(status, typeof body === 'string' ? body : JSON.stringify(body));
    await settled();
  };
  const fail = async (error: Error) => {
    waiting.shift()!.fail(error);
    await settled();
  };
  return {client, requests, said, answer, fail};
}

const list = makeFunctionReference<'query'>('messages:list');
const send = makeFunctionReference<'mutation'>('messages:send');
const report = makeFunctionReference<'action'>('messages:report');

describe('a call', () => {
  test('is a POST of path and arguments, and resolves with the value', async () => {
    const {client, requests, answer} = scripted();
    const value = client.query(anyApi.messages!.list! as typeof list, {b: 1, a: Number.NaN});
    await answer({status: 'success', value: [{$float: 'AAAAAAAA8P8='}]});
    expect(await value).toEqual([Number.NEGATIVE_INFINITY]);
    expect(requests).toEqual([
      {
        url: 'https://svc.example/svc/acme/query',
        headers: {'Content-Type': 'application/json'},
        body: {path: 'messages:list', args: {b: 1, a: {$float: 'AAAAAAAA+H8='}}, format: 'svc_encoded_json'},
      },
    ]);
  });

  test('of each kind goes to its endpoint; of a page, too', async () => {
    const {client, requests, answer} = scripted();
    const calls = [
      client.query(list),
      client.mutation(send),
      client.action(report),
      client.paginatedQuery(makeFunctionReference<'paginatedQuery'>('messages:pages'), {
        paginationOpts: {numItems: 1, cursor: null},
      }),
    ];
    await settled();
    for (const _ of calls) await answer({status: 'success', value: null});
    await Promise.all(calls);
    expect(requests.map(({url}) => url.slice('https://svc.example/svc/acme/'.length)).sort()).toEqual([
      'action',
      'mutation',
      'query',
      'query/paginated',
    ]);
  });

  test('carries the token that was set', async () => {
    const {client, requests, answer} = scripted({auth: 'one'});
    const authorizations = async () => {
      const call = client.query(list);
      await answer({status: 'success', value: null});
      await call;
      return requests.at(-1)!.headers.Authorization;
    };
    expect(await authorizations()).toBe('Bearer one');
    client.setAuth('two');
    expect(await authorizations()).toBe('Bearer two');
    client.clearAuth();
    expect(await authorizations()).toBeUndefined();
  });

  test.each([200, 560])(
    'of a function that failed (%i) rejects with its error, and echoes what it wrote',
    async status => {
      const {client, said, answer} = scripted();
      const outcome = stateOf(client.action(report));
      await answer({status: 'error', errorMessage: '[Request ID: 1] Server Error', logLines: ["[WARN] 'x'"]}, status);
      expect(await outcome).toBe('rejected [Request ID: 1] Server Error');
      expect(said).toEqual(["warn: [SVC A(messages:report)] 'x'"]);
    },
  );

  test('that the service refused rejects with what it said', async () => {
    const {client, answer} = scripted();
    const outcome = stateOf(client.query(list));
    await answer('{"error":{"code":"auth.unauthorized"}}', 401);
    expect(await outcome).toBe('rejected {"error":{"code":"auth.unauthorized"}}');
  });

  test('that got no answer rejects as fetch does', async () => {
    const {client, fail} = scripted();
    const outcome = stateOf(client.query(list));
    await fail(new TypeError('fetch failed'));
    expect(await outcome).toBe('rejected fetch failed');
  });
});

describe('8: arguments are checked before anything is sent', () => {
  test.each([
    ['a Date', new Date(0), 'Date 1970-01-01T00:00:00.000Z is not a supported svc type (present at path .a.b'],
    ['a Map', new Map(), 'Map is not a supported svc type (present at path .a.b'],
    ['a bigint', 1n, 'bigint 1n is not a supported svc type (present at path .a.b'],
  ])('%s', async (_, value, message) => {
    const {client, requests, answer} = scripted();
    const wrong = {a: {b: value}};
    const pages = makeFunctionReference<'paginatedQuery'>('messages:pages');
    await expect(client.query(list, wrong)).rejects.toThrow(message);
    await expect(client.paginatedQuery(pages, wrong as never)).rejects.toThrow(message);
    await expect(client.mutation(send, wrong)).rejects.toThrow(message);
    await expect(client.mutation(send, wrong, {skipQueue: true})).rejects.toThrow(message);
    await expect(client.action(report, wrong)).rejects.toThrow(message);
    expect(requests).toEqual([]);
    const next = client.mutation(send, {a: 1});
    await settled();
    await answer({status: 'success', value: 'sent'});
    expect(await next).toBe('sent');
  });
});

describe('mutations', () => {
  test('are sent one at a time, in the order of their calls; a failed one does not stop the next', async () => {
    const {client, requests, answer} = scripted();
    const calls = ['a', 'b', 'c'].map(text => client.mutation(send, {text}));
    const outcome = calls[0]!.catch((error: Error) => error.message);
    await settled();
    expect(requests).toHaveLength(1);
    await answer({status: 'error', errorMessage: 'no'});
    expect(requests.map(({body}) => (body as {args: object}).args)).toEqual([{text: 'a'}, {text: 'b'}]);
    expect(await outcome).toBe('no');
  });

  test('with skipQueue do not wait, and no other call waits for them', async () => {
    const {client, requests, answer} = scripted();
    void client.mutation(send, {n: 1});
    const skipping = client.mutation(send, {n: 2}, {skipQueue: true});
    await settled();
    // The first of those that wait is the one that was sent first: that which did not queue.
    expect(requests.map(({body}) => (body as {args: object}).args)).toEqual([{n: 2}, {n: 1}]);
    await answer({status: 'success', value: 'two'});
    expect(await skipping).toBe('two');
  });

  test('queries and actions do not wait for them', async () => {
    const {client, requests} = scripted();
    void client.mutation(send);
    void client.mutation(send);
    void client.query(list);
    void client.action(report);
    await settled();
    expect(requests).toHaveLength(3);
  });
});

describe('a mutation that waits is sent as who called it', () => {
  const token = (sub: string, jti: string) =>
    `h.${Buffer.from(JSON.stringify({iss: 'issuer', sub, jti})).toString('base64url')}.s`;
  const sentAs = async (first: string | undefined, next: string | undefined) => {
    const {client, requests, answer} = scripted({auth: first});
    const calls = [client.mutation(send), client.mutation(send)];
    await settled();
    if (next === undefined) client.clearAuth();
    else client.setAuth(next);
    for (const _ of calls) await answer({status: 'success', value: null});
    await Promise.all(calls);
    expect(requests).toHaveLength(2);
    return requests[1]!.headers.Authorization;
  };

  test('by a newer token of the same user', async () => {
    const newer = token('ada', 'new');
    expect(await sentAs(token('ada', 'old'), newer)).toBe(`Bearer ${newer}`);
  });

  test.each([
    ['another user', token('grace', 'new')],
    ['no user', undefined],
  ])('by their token, though %s is signed in by then', async (_, next) => {
    expect(await sentAs(token('ada', 'old'), next)).toBe(`Bearer ${token('ada', 'old')}`);
  });

  test('by none, if no user did', async () => {
    expect(await sentAs(undefined, token('ada', 'new'))).toBeUndefined();
  });
});
