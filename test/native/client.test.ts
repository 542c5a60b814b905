/** `svc/client` against a started service: in Node, and over a cable that is cut. */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {createClient, type Doc, type NativeClient, SvcClientError, versionOf} from '../../sdk/native/index.ts';
import {Cable} from '../client/cable.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';
import {answered, refused} from './answers.ts';

interface Tables {
  notes: {text: string; n?: number; tags?: string[]; by?: {name: string}};
  orders: {by: string};
  lines: {order: string; item: string};
}

const service = await sharedService();
let cable: Cable;
beforeAll(async () => {
  cable = await Cable.to(() => service.port);
});
afterAll(async () => {
  cable.close();
});
beforeEach(() => service.showLogOnFailure());

type Made = {tenant: string; db: NativeClient<Tables>; far: NativeClient<Tables>};
/** Of a new tenant: a client beside the service, and one at the end of the cable. */
async function made(options: {timeoutMs?: number; retries?: number} = {}): Promise<Made> {
  const tenant = await service.tenant('native');
  const key = service.accessToken;
  return {
    tenant,
    db: createClient<Tables>({url: `${service.url}/`, tenant, key: async () => key, ...options}),
    far: createClient<Tables>({url: cable.url, tenant, key, ...options}),
  };
}

async function failure(call: Promise<unknown>): Promise<SvcClientError> {
  const caught: unknown = await call.then(
    () => new Error('it succeeded'),
    error => error,
  );
  expect(caught).toBeInstanceOf(SvcClientError);
  return caught as SvcClientError;
}

describe('documents', () => {
  test('are written, read and deleted, each write with the version that it made', async () => {
    const {db} = await made();
    const id = await db.insert('notes', {text: 'a', n: 1});
    const note = (await db.get('notes', id))!;
    expect(note).toMatchObject({_id: id, text: 'a', n: 1});
    const patched = await db.patch('notes', id, {patch: {text: 'b'}, increment: {n: 2}, append: {tags: ['x']}});
    expect(await db.list('notes')).toMatchObject([{text: 'b', n: 3, tags: ['x']}]);
    expect(versionOf((await db.get('notes', id))!)).toBe(patched.version);
    expect(await db.put('notes', id, {text: 'c'})).toMatchObject({id, created: false});
    expect(await db.put('notes', 'mine', {text: 'd'})).toEqual({
      id: 'mine',
      version: expect.any(String),
      created: true,
    });
    await db.delete('notes', id);
    expect([await db.get('notes', id), await db.get('notes', 'never')]).toEqual([null, null]);
  });

  test('are not said to be missing by a client with a wrong url or tenant', async () => {
    const {tenant} = await made();
    const key = service.accessToken;
    for (const wrong of ['/api', '/prefix']) {
      const lost = createClient<Tables>({url: service.url + wrong, tenant, key});
      expect(await failure(lost.get('notes', 'a'))).toMatchObject({code: 'op.not_found', detail: {missing: 'route'}});
    }
    const nowhere = createClient<Tables>({url: service.url, tenant: 'never', key});
    expect(await failure(nowhere.get('notes', 'a'))).toMatchObject({code: 'session.tenant_not_found'});
  });

  test('are written only as what they were read as, where that is asked for', async () => {
    const {db} = await made();
    await db.put('notes', 'a', {text: '1'});
    const ifVersion = versionOf((await db.get('notes', 'a'))!);
    await db.patch('notes', 'a', {patch: {text: '2'}}, {ifVersion});
    for (const late of [
      () => db.patch('notes', 'a', {patch: {text: '3'}}, {ifVersion}),
      () => db.put('notes', 'a', {text: '3'}, {ifVersion}),
      () => db.put('notes', 'a', {text: '3'}, {ifAbsent: true}),
      () => db.delete('notes', 'a', {ifVersion}),
    ]) {
      expect(await failure(late())).toMatchObject({code: 'op.precondition_failed', status: 412, isTransient: false});
    }
    expect((await db.get('notes', 'a'))!.text).toBe('2');
  });
});

test('documents are upserted by a unique index, alone and in a transaction', async () => {
  const {db, tenant} = await made();
  const schema = {table: 'notes', fields: [], indexes: [{name: 'by_text', fields: ['text'], unique: true}]};
  expect((await service.request('PUT', `/api/tenants/${tenant}/schema/notes`, schema)).status).toBe(204);
  const by = {by: 'by_text'};
  const first = await db.upsert('notes', by, {text: 'a', n: 1});
  const second = await db.upsert('notes', by, {text: 'a', n: 9}, {changes: {increment: {n: 1}}});
  expect([first.created, second]).toMatchObject([true, {id: first.id, created: false}]);
  const late = db.upsert('notes', by, {text: 'a'}, {ifVersion: first.version!});
  expect(await failure(late)).toMatchObject({code: 'op.precondition_failed'});
  const ifVersion = second.version!;
  await db.transaction(tx => void tx.upsert('notes', by, {text: 'a'}, {increment: {n: 5}}, {ifVersion}));
  expect(await db.upsert('notes', by, {text: 'b'})).toMatchObject({created: true});
  expect(await db.list('notes')).toMatchObject([{text: 'a', n: 7}, {text: 'b'}]);
});

describe('queries', () => {
  test('of several tables are answered together', async () => {
    const {db} = await made();
    await db.insert('notes', {text: 'a', n: 1});
    await db.insert('orders', {by: 'ada'});
    const [notes, orders, count] = await db.queries([
      {table: 'notes', select: ['text']},
      {table: 'orders', filters: [{field: 'by', op: 'eq', value: 'ada'}]},
      {table: 'notes', count: true},
    ]);
    expect([notes, orders, count]).toMatchObject([[{text: 'a'}], [{by: 'ada'}], 1]);
    expect(notes[0]).not.toHaveProperty('n');
    const error = await failure(db.queries([{table: 'notes'}, {table: 'no table' as 'notes'}]));
    expect([error.code, error.detail.query]).toEqual(['op.invalid_input', 1]);
  });

  test('have what their filters, orders and limits say, whole or in pages', async () => {
    const {db} = await made();
    for (let n = 1; n <= 7; n++) await db.insert('notes', {text: `t${n}`, n, by: {name: n % 2 === 0 ? 'ada' : 'bob'}});
    const numbers = (notes: readonly Doc<Tables['notes']>[]) => notes.map(({n}) => n);
    const byAda = {filters: [{field: 'by.name', op: 'eq', value: 'ada'}]} as const;
    expect(numbers(await db.query('notes', byAda))).toEqual([2, 4, 6]);
    const some = {
      filters: [
        {
          or: [
            {field: 'n', op: 'in', value: [1, 7]},
            [
              {field: 'n', op: 'gt', value: 3},
              {field: 'text', op: 'prefix', value: 't5'},
            ],
          ],
        },
      ],
      order: {field: 'n', direction: 'desc'},
    } as const;
    expect(numbers(await db.query('notes', some))).toEqual([7, 5, 1]);
    expect(numbers(await db.query('notes', {limit: 2}))).toEqual([1, 2]);
    const [shown] = await db.query('notes', {select: ['text', 'by.name'], limit: 1});
    expect(shown).toEqual({_id: expect.any(String), text: 't1', by: {name: 'bob'}});
    expect([await db.count('notes', byAda), await db.count('notes')]).toEqual([3, 7]);
    const pages: unknown[] = [];
    for await (const {data} of db.pages('notes', {}, {pageSize: 3})) pages.push(numbers(data));
    expect(pages).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
    const read: unknown[] = [];
    for await (const {n} of db.documents('notes', {order: {field: 'n', direction: 'desc'}}, {pageSize: 2})) {
      if (n === 4) break;
      read.push(n);
    }
    expect(read).toEqual([7, 6, 5]);
  });
});

describe('a transaction', () => {
  test('makes all of it, with references to what it makes itself', async () => {
    const {db} = await made();
    const results = await db.transaction(tx => {
      const order = tx.insert('orders', {by: 'ada'});
      tx.insert('lines', {order, item: 'pen'});
      tx.upsert('notes', 'count', {text: 'orders', n: 1}, {increment: {n: 1}});
      tx.schedule(3_600_000, {type: 'delete', table: 'orders', id: order});
    });
    expect(results).toMatchObject([
      {id: expect.any(String)},
      {},
      {id: 'count', created: true},
      {job_id: expect.any(String)},
    ]);
    expect(await db.list('lines')).toMatchObject([{order: results[0]!.id, item: 'pen'}]);
  });

  test('makes none of it when one fails, and names that', async () => {
    const {db} = await made();
    const error = await failure(
      db.transaction(tx => {
        tx.insert('orders', {by: 'ada'});
        tx.delete('orders', 'never');
      }),
    );
    expect([error.code, error.detail.operation]).toEqual(['op.not_found', 1]);
    expect(await db.transaction(tx => void tx.insert('orders', {by: 'ada'}), {dryRun: true})).toHaveLength(1);
    expect(await db.list('orders')).toEqual([]);
  });
});

describe('when something goes wrong', () => {
  test('a call rejects with what the service said, and how its log knows it', async () => {
    const {db, tenant} = await made();
    const bad = await failure(db.query('no table' as 'notes'));
    expect(bad).toMatchObject({
      code: 'op.invalid_input',
      status: 400,
      requestId: expect.any(String),
      name: 'SvcClientError',
    });
    expect(bad.message).toMatch(/^op\.invalid_input: /);
    const nobody = createClient<Tables>({url: service.url, tenant, key: 'wrong'});
    expect(await failure(nobody.list('notes'))).toMatchObject({code: 'auth.unauthorized', status: 401});
    const nowhere = createClient<Tables>({url: service.url, tenant: 'never', key: service.accessToken});
    expect(await failure(nowhere.insert('notes', {text: ''}))).toMatchObject({code: 'session.tenant_not_found'});
    const closed = createClient<Tables>({url: 'http://127.0.0.1:1', tenant, key: 'k', retries: 1});
    expect(await failure(closed.list('notes'))).toMatchObject({code: 'client.unreachable', status: 0, requestId: null});
  });

  test('an operation without a method can be called, and a write without a key is sent once', async () => {
    const {db} = await made();
    const schema = {table: 'notes', fields: [], indexes: []};
    expect(await db.call('PUT', '/schema/notes', {body: schema})).toBeNull();
    expect(await db.call('GET', '/schema/notes')).toMatchObject({table: 'notes'});
    const body = {type: 'delete', query: {table: 'notes', filters: []}};
    const start = () => db.call<{id: string}>('POST', '/tasks', {body, idempotencyKey: 'nightly'});
    expect(await start()).toEqual(await start());
    expect((await failure(db.call('GET', '/nowhere'))).code).toBe('op.not_found');
    const busy = answered([refused(503, 'session.overloaded')], {retries: 2});
    await failure(busy.db.call('POST', '/tasks', {body}));
    expect([busy.sent.length, busy.sent[0]!.headers.has('idempotency-key')]).toEqual([1, false]);
  });

  test('a write whose answer was lost is sent again, and done once', async () => {
    const {db, far} = await made();
    for (let round = 1; round <= 5; round++) {
      cable.deafen();
      const writes = [
        far.insert('notes', {text: String(round)}),
        far.transaction(tx => void tx.insert('orders', {by: String(round)})),
      ];
      await until('both to be done', async () => {
        const [notes, orders] = [await db.list('notes'), await db.list('orders')];
        return notes.length === round && orders.length === round;
      });
      cable.cut();
      const [id] = await Promise.all(writes);
      expect(await db.get('notes', id as string)).toMatchObject({text: String(round)});
    }
    expect([(await db.list('notes')).length, (await db.list('orders')).length]).toEqual([5, 5]);
  });

  test('a call is given up when its signal says so, or its time is over', async () => {
    const {far, db} = await made({timeoutMs: 50, retries: 0});
    expect(await db.list('notes', {timeoutMs: 30_000})).toEqual([]);
    cable.deafen();
    expect(await failure(far.list('notes'))).toMatchObject({code: 'client.timeout', status: 0});
    const controller = new AbortController();
    const call = far.list('notes', {signal: controller.signal, timeoutMs: 30_000});
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    cable.cut();
  });
});

describe('a live query', () => {
  test('tells the whole result, and every newer one, across lost connections and the death of the worker', async () => {
    const {db, far, tenant} = await made();
    const shown: string[] = [];
    const states: string[] = [];
    const query = {order: {field: 'n', direction: 'desc'}, limit: 3} as const;
    const end = far.live('notes', query, notes => shown.push(notes.map(({n}) => n).join()), {
      onState: state => states.push(state),
    });
    await until('the first result', () => shown.length === 1);
    await db.insert('notes', {text: '', n: 1});
    await until('the insert', () => shown.at(-1) === '1');
    cable.cut();
    await db.insert('notes', {text: '', n: 2});
    await until('what was written meanwhile', () => shown.at(-1) === '2,1');
    process.kill(await service.workerOf(tenant), 'SIGKILL');
    await db.insert('notes', {text: '', n: 3});
    await until('what the next worker wrote', () => shown.at(-1) === '3,2,1');
    expect(shown).toEqual(['', '1', '2,1', '3,2,1']);
    expect(new Set(states)).toEqual(new Set(['connected', 'waiting']));
    end();
    await db.insert('notes', {text: '', n: 4});
    await db.list('notes');
    expect(shown).toHaveLength(4);
  });

  test('tells how many there are, where that is what is asked', async () => {
    const {db} = await made();
    const counts: number[] = [];
    const end = db.liveCount('notes', {filters: [{field: 'n', op: 'gte', value: 1}]}, count => counts.push(count));
    await until('the first count', () => counts.length === 1);
    await db.insert('notes', {text: '', n: 0});
    await db.insert('notes', {text: '', n: 1});
    await until('the second', () => counts.length === 2);
    end();
    expect(counts).toEqual([0, 1]);
  });

  test('ends with the error of what is no query, of a tenant that is not there, and of one that is deleted', async () => {
    const {db, tenant} = await made();
    const errorOf = (start: (onError: (error: unknown) => void) => void) =>
      new Promise<SvcClientError>(resolve => start(error => resolve(error as SvcClientError)));
    expect(await errorOf(onError => db.live('no table' as 'notes', {}, () => {}, {onError}))).toMatchObject({
      code: 'op.invalid_input',
    });
    const deleted = errorOf(onError => {
      db.live('notes', {}, () => void service.request('DELETE', `/api/tenants/${tenant}`), {onError});
    });
    expect(await deleted).toMatchObject({code: 'session.tenant_not_found'});
  });
});

describe('live queries with a key', () => {
  type Sent = {type: string; query?: {table: string}};
  type Line = {socket: WebSocket; sent: Sent[]};

  /** A client at the end of the cable, what it sent over its sockets, and which requests it made. */
  async function lined(options: {scopes?: readonly string[]; expires?: number | null} = {}) {
    const {tenant, db} = await made();
    const lines: Line[] = [];
    const requests: string[] = [];
    const newKey = async () => {
      const {scopes = ['data:read'], expires = 600} = options;
      const body = {name: `key ${crypto.randomUUID()}`, scopes, expires_in_seconds: expires};
      const reply = await service.post('/api/keys', body);
      expect([reply.status, reply.text]).toEqual([201, reply.text]);
      return reply.body as {key: {id: string}; secret: string};
    };
    const current = await newKey();
    class Noted extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        lines.push({socket: this, sent: []});
      }
      override send(text: string): void {
        lines.find(({socket}) => socket === this)!.sent.push(JSON.parse(text) as Sent);
        super.send(text);
      }
    }
    const noted: typeof fetch = (input, init) => {
      requests.push(new URL(String(input)).pathname.replace(/^.*\/api\/(tenants\/[^/]+\/)?/, ''));
      return fetch(input, init);
    };
    const key = () => current.secret;
    const far = createClient<Tables>({url: cable.url, tenant, key, fetch: noted, webSocket: Noted});
    return {tenant, db, far, lines, requests, current, newKey};
  }

  const countOf = ({sent}: Line, type: string) => sent.filter(frame => frame.type === type).length;

  test('share one socket where it may be a subprotocol, equal ones one subscription, and come back together', async () => {
    const {db, far, lines, requests} = await lined();
    const shown: string[] = [];
    const above = (n: number) => ({filters: [{field: 'n', op: 'gt', value: n}]}) as const;
    const ends = Array.from({length: 20}, (_, at) =>
      far.live('notes', above(at), notes => {
        shown[at] = notes.map(({n}) => n).join();
      }),
    );
    const counts: number[] = [];
    ends.push(far.liveCount('notes', above(0), count => counts.push(count)));
    await until('every first result', () => Object.keys(shown).length === 20 && counts.length === 1);
    await db.insert('notes', {text: '', n: 5});
    await until('the insert', () => shown.slice(0, 6).join() === '5,5,5,5,5,' && counts.at(-1) === 1);
    const late: string[] = [];
    const endLate = far.live('notes', above(0), notes => late.push(notes.map(({n}) => n).join()));
    expect(late).toEqual([]); // not before it has what ends it
    await until('the late one to get its result', () => late.length === 1);
    expect(lines.map(line => [countOf(line, 'subscribe'), countOf(line, 'unsubscribe')])).toEqual([[21, 0]]);

    cable.cut();
    await db.insert('notes', {text: '', n: 20});
    await until('all to be back', () => shown.every(text => text.endsWith('20')) && counts.at(-1) === 2);
    expect([late, counts]).toEqual([
      ['5', '5,20'],
      [0, 1, 2],
    ]);
    expect(requests.filter(path => path !== 'whoami')).toEqual([]);

    const line = lines.at(-1)!;
    endLate();
    expect(countOf(line, 'unsubscribe')).toBe(0);
    for (const end of ends.slice(1)) end();
    expect(countOf(line, 'unsubscribe')).toBe(20);
    await db.insert('notes', {text: '', n: 21});
    await until('the one that is left to get its result', () => shown[0] === '5,20,21');
    expect(shown[1]).toBe('5,20');
    const closed = new Promise(resolve => line.socket.addEventListener('close', resolve));
    ends[0]!();
    await closed;
  });

  test('are streams of events where it lives too long for that, one for equal ones', async () => {
    const {db, far, lines, requests} = await lined({expires: null});
    const shown: number[] = [];
    const ends = [1, 2].map(() => far.live('notes', {}, notes => shown.push(notes.length)));
    await until('both first results', () => shown.length === 2);
    await db.insert('notes', {text: ''});
    await until('both to get their results', () => shown.length === 4);
    expect(shown).toEqual([0, 0, 1, 1]);
    expect(lines.map(({sent}) => sent)).toEqual([[], []]);
    expect(requests).toEqual(['whoami', 'whoami', 'query/stream']);
    const other = far.liveCount('notes', {}, count => shown.push(count));
    await until('another', () => shown.length === 5);
    expect(lines).toHaveLength(2);
    for (const end of [...ends, other]) end();
  });

  test('go on with the next key when it ends, and end when there is none', async () => {
    const {db, far, current, newKey, lines} = await lined();
    const counts: number[] = [];
    const ended = new Promise<unknown>(resolve => {
      far.liveCount('notes', {}, count => counts.push(count), {onError: resolve});
    });
    await until('the first count', () => counts.length === 1);
    const [old, next] = [current.key.id, await newKey()];
    current.secret = next.secret;
    await service.request('DELETE', `/api/keys/${old}`);
    await db.insert('notes', {text: ''});
    await until('the count of the next socket', () => counts.length === 2 && lines.length === 2);
    await service.request('DELETE', `/api/keys/${next.key.id}`);
    expect(await ended).toMatchObject({name: 'SvcClientError', code: 'auth.unauthorized', status: 401});
  });

  test('end each with its own error', async () => {
    const {far, tenant, lines} = await lined();
    const errors: unknown[] = [];
    const counts: number[] = [];
    far.live('no table' as 'notes', {}, () => {}, {onError: error => errors.push(error)});
    const notFound = new Promise<unknown>(resolve => {
      far.liveCount('notes', {}, count => counts.push(count), {onError: resolve});
    });
    await until('an error and a count', () => errors.length === 1 && counts.length === 1);
    expect(errors).toMatchObject([{code: 'op.invalid_input', status: 400}]);
    expect(lines).toHaveLength(1);
    await service.request('DELETE', `/api/tenants/${tenant}`);
    expect(await notFound).toMatchObject({code: 'session.tenant_not_found', status: 404});
  });
});

describe('the journal', () => {
  test('is iterated record by record, those that are there and those to come, without a gap across lost connections', async () => {
    const {db, far} = await made();
    for (let n = 1; n <= 20; n++) await db.insert('notes', {text: '', n});
    const seen: number[] = [];
    for await (const {sequence, writes} of far.journal()) {
      expect(writes[0]).toMatchObject({table: 'notes', op: 'insert', document: {n: sequence}});
      seen.push(sequence);
      if (sequence % 7 === 0) cable.cut();
      if (sequence >= 20 && sequence < 30) await db.insert('notes', {text: '', n: sequence + 1});
      if (sequence === 30) break;
    }
    expect(seen).toEqual(Array.from({length: 30}, (_, at) => at + 1));
    const tail: number[] = [];
    for await (const {sequence} of db.journal({after: 27, tables: ['notes'], limit: 2})) tail.push(sequence);
    expect(tail).toEqual([28, 29]);
    const beyond = db.journal({after: 1000});
    expect(await failure(beyond.next())).toMatchObject({code: 'journal.cursor_expired', status: 410});
  });
});
