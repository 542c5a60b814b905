/** What a page in a browser can send with an upgrade is its list of subprotocols: a key may be among them, if it is soon worth nothing. */
import {WebSocket} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import {PAGE_KEY_LIFE_MS_MAX} from '../../router/limits.ts';
import type {RefusalPage} from '../../shared/protocol/audit.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import {SCOPES} from '../../shared/rights.ts';
import {Service} from '../harness/service.ts';
import type {Frame} from '../harness/socket.ts';
import {expectError} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const PAGE = 'https://app.example.com';
const DAY_S = PAGE_KEY_LIFE_MS_MAX / 1_000;

let service: Service;
let tenant: string;
let names = 0;
beforeAll(async () => {
  // One router: with several, each grants its share of a rate limit.
  service = await Service.start({args: ['--allowed-origin', PAGE, '--routers', '1', '--rate-limit-key', '0.001:4']});
  tenant = await service.tenant();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

async function make(body: object = {}): Promise<{key: Key; secret: string}> {
  const wanted = {name: `key ${++names}`, scopes: ['data:read'], expires_in_seconds: 600, ...body};
  const reply = await service.post('/api/keys', wanted);
  expect([reply.status, reply.text]).toEqual([201, reply.text]);
  return reply.body;
}

/** As a page opens one: it can name subprotocols, and its browser says its origin. */
async function open(
  protocols: string[],
  origin = PAGE,
): Promise<{ws: WebSocket; frames: Frame[]; closed: Promise<number>}> {
  const address = `${service.url.replace('http', 'ws')}/ws?tenant_id=${tenant}`;
  const ws = new WebSocket(address, {protocols, headers: {origin}});
  onTestFinished(() => ws.close());
  const frames: Frame[] = [];
  ws.addEventListener('message', event => frames.push(JSON.parse(String(event.data)) as Frame));
  const closed = new Promise<number>(resolve => ws.addEventListener('close', ({code}) => resolve(code)));
  await new Promise((resolve, reject) => {
    ws.addEventListener('open', resolve);
    ws.addEventListener('error', ({error}) => reject(error as Error));
  });
  ws.send(JSON.stringify({type: 'client_hello', protocol: 'svc.v2'}));
  return {ws, frames, closed};
}

const subscribe = (request_id: string) =>
  JSON.stringify({type: 'subscribe', request_id, query: {table: 'items', filters: []}});

/** What an upgrade with such a list is answered. */
async function refusal(protocols: string, path = `/ws?tenant_id=${tenant}`, headers: string[] = []) {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${service.port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
  ];
  lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', ...headers);
  const received = await service.raw(
    [...lines, `Sec-WebSocket-Protocol: ${protocols}`, '', ''].join('\r\n'),
    text => text.startsWith('HTTP/1.1 101') || text.includes('}}'),
  );
  const body = Buffer.from(received.slice(received.indexOf('\r\n\r\n') + 4), 'latin1').toString();
  const error = body.startsWith('{')
    ? (JSON.parse(body) as {error: {code: string; message: string; detail?: object}}).error
    : null;
  return {status: Number(received.slice(9, 12)), error, received};
}

describe('a page of an accepted origin', () => {
  test('opens a socket with a key, in any order, and is answered svc.v2 alone', async () => {
    const {secret} = await make();
    for (const protocols of [
      ['svc.v2', secret],
      [secret, 'svc.v2'],
    ]) {
      const {ws, frames} = await open(protocols);
      expect(ws.protocol).toBe('svc.v2');
      ws.send(subscribe('a'));
      await until('the first result', () => frames.some(({request_id}) => request_id === 'a'));
      expect(JSON.stringify(frames)).not.toContain(secret);
    }
    const {received} = await refusal(`svc.v2, ${secret}`, `/ws?tenant_id=${tenant}`);
    expect(received).not.toContain('svc_key_');
  });

  test('loses it when the key is revoked', async () => {
    const {key, secret} = await make();
    const {closed} = await open(['svc.v2', secret]);
    expect((await service.request('DELETE', `/api/keys/${key.id}`)).status).toBe(204);
    expect(await closed).toBe(1008);
  });

  test('of another one it does not help', async () => {
    const {secret} = await make();
    const {status, error} = await refusal(`svc.v2, ${secret}`, undefined, ['Origin: https://evil.example.com']);
    expect([status, error!.code]).toEqual([403, 'auth.origin_forbidden']);
  });
});

describe('a key is refused as subprotocol', () => {
  test.each<[what: string, body: object, said: string]>([
    ['that does not expire', {expires_in_seconds: null}, 'last 24 hours'],
    ['that expires later than in a day', {expires_in_seconds: DAY_S + 600}, 'last 24 hours'],
    ['with every scope', {scopes: [...SCOPES]}, 'every scope'],
    ['without the scope', {scopes: ['logs']}, 'data:read'],
    ['of another tenant', {tenants: ['another']}, 'tenant'],
  ])('%s: 403, and the record of it names the key', async (_what, body, said) => {
    const {key, secret} = await make(body);
    const {status, error} = await refusal(`svc.v2, ${secret}`);
    expect([status, error!.code]).toEqual([403, 'auth.forbidden']);
    expect(error!.message).toContain(said);
    const {body: refusals} = await service.get('/api/audit/refusals?limit=1000');
    const named = {operation: 'socket', tenant, code: 'auth.forbidden', key: key.id, key_name: key.name, shown: null};
    expect((refusals as RefusalPage).records.at(-1)).toMatchObject(named);
  });

  test('though as a header it is as good as any', async () => {
    const {secret} = await make({expires_in_seconds: null});
    const {status} = await refusal('svc.v2', undefined, [`Authorization: Bearer ${secret}`]);
    expect(status).toBe(101);
  });

  test('that is misspelled, or none: 401', async () => {
    const {secret} = await make();
    for (const wrong of [`${secret.slice(0, -1)}-`, secret.slice(0, -8), 'svc_key_']) {
      const {status, error} = await refusal(`svc.v2, ${wrong}`);
      expect([status, error!.code]).toEqual([401, 'auth.unauthorized']);
    }
  });

  test('without svc.v2 beside it, and the answer does not repeat it', async () => {
    const {secret} = await make();
    const {status, error, received} = await refusal(secret);
    expect([status, error!.code, error!.detail]).toEqual([
      400,
      'protocol.no_overlap',
      {serverSupports: ['svc.v2'], clientOffered: ['svc_key_…']},
    ]);
    expect(received).not.toContain(secret);
  });
});

test('a key in a URL is refused, and the message says what to do with it', async () => {
  const {secret} = await make();
  const admin = [`Authorization: Bearer ${service.accessToken}`];
  for (const headers of [[], admin]) {
    const {status, error} = await refusal('svc.v2', `/ws?tenant_id=${tenant}&key=${secret}`, headers);
    expect([status, error!.code]).toEqual([400, 'op.invalid_input']);
    expect(error!.message).toMatch(/must not be in a URL.*rotate/);
  }
  const reply = await service.get(`/api/tenants/${tenant}/schema?access_token=${secret}`, {authorization: undefined});
  expect(expectError(reply, 400, 'op.invalid_input').message).toContain('must not be in a URL');
});

describe('what comes with a key is counted against its rate limit', () => {
  test('its own: requests are 429 beyond it, other keys and admin credentials go on', async () => {
    const limited = await make({rate_limit: {requests_per_second: 1, burst: 2}});
    const other = await make();
    const read = (secret: string) =>
      service.get(`/api/tenants/${tenant}/documents/items`, {authorization: `Bearer ${secret}`});
    // One a second is earned meanwhile.
    const replies = await Promise.all(Array.from({length: 30}, () => read(limited.secret)));
    expect(new Set(replies.map(({headers}) => headers['ratelimit-policy']))).toEqual(new Set(['"key";q=2;w=2']));
    const refused = replies.filter(({status}) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(expectError(refused[0]!, 429, 'op.rate_limited').detail).toEqual({limit: 'key', retry_after_seconds: 1});
    expect(refused[0]!.headers).toMatchObject({'retry-after': '1', ratelimit: '"key";r=0;t=2'});
    expect((await read(other.secret)).headers['ratelimit-policy']).toBe('"key";q=4;w=4000');
    expect((await read(service.accessToken)).headers.ratelimit).toBeUndefined();
  });

  test('that of all keys: an upgrade and each subscription', async () => {
    const {secret} = await make();
    const {ws, frames} = await open(['svc.v2', secret]);
    for (const id of ['a', 'b', 'c', 'd']) ws.send(subscribe(id));
    const refused = await until('the refusal', () => frames.find(({type}) => type === 'op.error'));
    expect(refused).toMatchObject({id: 'd', error: {detail: {code: 'op.rate_limited', limit: 'key'}}});
  });
});
