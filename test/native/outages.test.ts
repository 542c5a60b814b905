/** `svc/client` when the service refuses it, goes and comes back, and what is left behind of queries that have ended. */
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {createClient, type SvcClientError} from '../../sdk/native/index.ts';
import {Cable} from '../client/cable.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

interface Tables {
  notes: {n: number};
}

const root = fileURLToPath(new URL('../..', import.meta.url));
let service: Service;
let cable: Cable;
beforeAll(async () => {
  service = await Service.start();
  cable = await Cable.to(() => service.port);
});
afterAll(async () => {
  cable.close();
  await service.stop();
});
beforeEach(() => service.showLogOnFailure());

async function newKey(grant: object = {}): Promise<string> {
  const body = {name: `key ${crypto.randomUUID()}`, scopes: ['data:read'], expires_in_seconds: 600, ...grant};
  const reply = await service.post('/api/keys', body);
  expect([reply.status, reply.text]).toEqual([201, reply.text]);
  return (reply.body as {secret: string}).secret;
}

/** WebSocket, and how many were made. */
function counted() {
  const made = {count: 0};
  class Counted extends WebSocket {
    constructor(url: string, protocols: string[]) {
      made.count++;
      super(url, protocols);
    }
  }
  return {made, Counted};
}

test('a key that is refused ends live queries with its error, and the next one has the socket again', async () => {
  const tenant = await service.tenant('refused');
  const good = await newKey();
  for (const [bad, code, status] of [
    [`${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`, 'auth.unauthorized', 401],
    [await newKey({scopes: ['schedule']}), 'auth.forbidden', 403],
    [await newKey({tenants: [await service.tenant('other')]}), 'auth.forbidden', 403],
  ] as const) {
    let key = bad;
    const {made, Counted} = counted();
    const db = createClient<Tables>({url: cable.url, tenant, key: () => key, webSocket: Counted});
    const ends = Array.from(
      {length: 3},
      (_, n) =>
        new Promise<SvcClientError>(resolve => {
          db.live('notes', {limit: n + 1}, () => {}, {onError: error => resolve(error as SvcClientError)});
        }),
    );
    for (const error of await Promise.all(ends)) expect(error).toMatchObject({code, status, isTransient: false});
    expect(made.count).toBeLessThanOrEqual(2);
    const before = made.count;
    key = good;
    await new Promise<void>(resolve => {
      const end = db.liveCount('notes', {}, () => {
        end();
        resolve();
      });
    });
    expect(made.count).toBe(before + 1);
  }
});

test('a service that was killed and started again: each result once, every record once, in order', async () => {
  const tenant = await service.tenant('restarted');
  const db = createClient<Tables>({url: cable.url, tenant, key: service.accessToken, retries: 20});
  const key = await newKey();
  const page = createClient<Tables>({url: cable.url, tenant, key: async () => key});
  const shown: string[] = [];
  const states: string[] = [];
  const end = page.live('notes', {}, notes => shown.push(notes.map(({n}) => n).join()), {
    onState: state => states.push(state),
  });
  const records: number[] = [];
  const stop = new AbortController();
  const followed = (async () => {
    for await (const {writes} of page.journal({signal: stop.signal})) records.push(writes[0]!.document!.n as number);
  })();
  let written = 0;
  const write = async () => void (await db.insert('notes', {n: written++}));
  await until('the first result', () => shown.length === 1);
  await write();
  await until('the first write', () => shown.at(-1) === '0' && records.length === 1);
  const writing = Promise.all([write(), write()]);
  await service.killAll();
  await service.run();
  await writing;
  await write();
  const all = Array.from({length: written}, (_, n) => n);
  const sorted = (text: string) =>
    text
      .split(',')
      .map(Number)
      .toSorted((a, b) => a - b);
  await until('all to be shown', () => sorted(shown.at(-1)!).length === written && records.length === written);
  expect([sorted(shown.at(-1)!), records.toSorted((a, b) => a - b)]).toEqual([all, all]);
  expect(records).toEqual(shown.at(-1)!.split(',').map(Number));
  // No result twice, none that lacks what one before it had.
  expect(new Set(shown).size).toBe(shown.length);
  for (const [at, text] of shown.entries()) expect(text.startsWith(shown[at - 1] ?? '')).toBe(true);
  expect(states.filter(state => state === 'connected').length).toBeGreaterThan(1);
  end();
  stop.abort(new Error('enough'));
  await expect(followed).rejects.toThrow('enough');
});

test('of live queries that have ended nothing is left: not in the service, and nothing that keeps a process', async () => {
  const tenant = await service.tenant('many');
  const script = `
    import {createClient} from './dist/sdk/client.js';
    const {url, tenant, key} = JSON.parse(process.argv[1]);
    let results = 0;
    for (const webSocket of [WebSocket, null]) {
      const db = createClient({url, tenant, key, webSocket});
      for (let round = 0; round < 3; round++) {
        await Promise.all(Array.from({length: webSocket === null ? 10 : 200}, (_, n) => new Promise(resolve => {
          const query = {filters: [{field: 'n', op: 'gt', value: n}], limit: round + 1};
          // Some are ended before their first result is there, by one way or the other.
          const controller = new AbortController();
          const end = db.live('notes', query, () => { results++; end(); resolve(); }, {signal: controller.signal});
          if (n % 5 === 0) { end(); resolve(); }
          if (n % 5 === 1) setImmediate(() => { controller.abort(); resolve(); });
        })));
      }
    }
    console.log(results >= 3 * 120 + 3 * 6);`;
  const said = {url: service.url, tenant, key: await newKey()};
  const end = createClient<Tables>(said).live('notes', {limit: 1000}, () => {});
  const options = JSON.stringify(said);
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, options], {cwd: root});
  expect((await run).stdout).toBe('true\n');
  const gauge = async (name: string) => {
    const {text} = await service.get('/metrics');
    const lines = text.split('\n').filter(line => line.startsWith(name));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  await until('the service to hold the one that has not ended', async () => (await gauge('svc_live_queries')) === 1);
  end();
  await until('the service to hold none', async () => (await gauge('svc_live_queries')) === 0);
  await until('nobody to follow', async () => (await gauge('svc_followers{')) === 0);
});
