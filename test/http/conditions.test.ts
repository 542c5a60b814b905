/** Versions of documents as entity tags, and writes that are made only if the document is of the version they name. */
import fc from 'fast-check';
import {request} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {bootstrap, journalAfter, replay} from '../harness/journal.ts';
import {rounds} from '../harness/nightly.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
});
afterAll(() => service.stop());
/** An id, and a key, that nobody has used. */
let mine: string;
let tests = 0;
beforeEach(() => {
  service.showLogOnFailure();
  mine = `mine-${++tests}`;
});

const at = (id: string) => `/documents/t/${id}`;
const etagOf = ({headers}: Reply) => String(headers.etag);
const read = (id: string, headers = {}) => tenant.request('GET', at(id), undefined, headers);
const records = async () => (await journalAfter(tenant, 0)).records.length;

describe('the ETag of a document', () => {
  test('is the same as long as nobody writes it, and another after each write, within one millisecond too', async () => {
    const id = await tenant.insert('t', {n: 0});
    const seen = new Set([etagOf(await read(id))]);
    expect(etagOf(await read(id))).toBe([...seen][0]);
    const patches = await Promise.all(
      Array.from({length: 50}, (_, n) => tenant.request('PATCH', at(id), {patch: {n: n % 2}})),
    );
    for (const reply of patches) seen.add(etagOf(reply));
    expect(seen.size).toBe(51);
    expect(seen).toContain(etagOf(await read(id)));
  });

  test('is never that of an earlier document of the same id', async () => {
    const seen: string[] = [];
    for (let round = 0; round < 20; round++) {
      seen.push(etagOf(await tenant.request('PUT', at(mine), {fields: {round}})));
      seen.push(etagOf(await tenant.request('PATCH', at(mine), {patch: {round: 0}})));
      await tenant.delete('t', mine);
    }
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('outlives a restart, and a follower can tell it from the document', async () => {
    const id = await tenant.insert('t', {n: 0});
    await tenant.patch('t', id, {n: 1});
    const before = etagOf(await read(id));
    await service.end('SIGTERM');
    await service.run();
    expect(etagOf(await read(id))).toBe(before);
    const document = replay(await bootstrap(tenant), [])
      .get('t')!
      .find(({_id}) => _id === id);
    expect(before).toBe(`"${document!._creationTime}-${document!._updateTime}"`);
  });

  test('comes with HEAD, PATCH and PUT; a write that is sent again with its Idempotency-Key is answered without', async () => {
    const id = await tenant.insert('t', {n: 0});
    const key = {'idempotency-key': mine};
    const patched = await tenant.request('PATCH', at(id), {patch: {n: 1}}, key);
    expect(etagOf(patched)).toBe(etagOf(await read(id)));
    expect(etagOf(await tenant.request('HEAD', at(id)))).toBe(etagOf(patched));
    const again = await tenant.request('PATCH', at(id), {patch: {n: 1}}, key);
    expect([again.status, again.text, again.headers.etag]).toEqual([200, patched.text, undefined]);
  });
});

describe('If-None-Match of a read', () => {
  test('with the present version is 304 with the ETag and without a body; with another one the document', async () => {
    const id = await tenant.insert('t', {n: 0});
    const etag = etagOf(await read(id));
    for (const value of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const reply = await read(id, {'if-none-match': value});
      expect([value, reply.status, reply.text, etagOf(reply)]).toEqual([value, 304, '', etag]);
    }
    expect((await read(id, {'if-none-match': '"other"'})).status).toBe(200);
    await tenant.patch('t', id, {n: 1});
    expect((await read(id, {'if-none-match': etag})).body).toMatchObject({document: {n: 1}});
    expectError(await read('none', {'if-none-match': '*'}), 404, 'op.not_found');
  });

  test.each(['abc', '"abc', '"a" "b"', '""x', 'w/"a"', Array(101).fill('"a"').join(', ')])(
    'of %j is 400 that says what is meant',
    async value => {
      const id = await tenant.insert('t', {});
      const {message} = expectError(await read(id, {'if-none-match': value}), 400, 'op.invalid_input');
      expect(message).toMatch(/If-None-Match .*entity tags/);
    },
  );
});

describe('If-Match of a write', () => {
  const WRITES: [string, (id: string, headers: object) => Promise<Reply>][] = [
    ['PATCH', (id, headers) => tenant.request('PATCH', at(id), {patch: {n: 1}}, headers as never)],
    ['PUT', (id, headers) => tenant.request('PUT', at(id), {fields: {n: 1}}, headers as never)],
    ['DELETE', (id, headers) => tenant.request('DELETE', at(id), undefined, headers as never)],
  ];

  test.each(WRITES)('%s is made with the present version, among others too, and with *', async (_, write) => {
    for (const value of [(etag: string) => etag, (etag: string) => `"other", ${etag}`, () => '*']) {
      const id = await tenant.insert('t', {n: 0});
      expect((await write(id, {'if-match': value(etagOf(await read(id)))})).status).toBeLessThan(300);
    }
  });

  test.each(WRITES)('%s with another version is 412 with the present one, and nothing is written', async (_, write) => {
    const id = await tenant.insert('t', {n: 0});
    const old = etagOf(await read(id));
    await tenant.patch('t', id, {n: 5});
    const now = etagOf(await read(id));
    const before = await records();
    for (const value of [old, '"other"', `W/${now}`]) {
      const {detail} = expectError(await write(id, {'if-match': value}), 412, 'op.precondition_failed');
      expect(detail).toEqual({id, version: now.slice(1, -1)});
    }
    expect(await records()).toBe(before);
    expect(await tenant.get('t', id)).toMatchObject({n: 5});
  });

  test('of a document that is not there: PATCH and DELETE are 404 as without it, PUT is 412', async () => {
    await tenant.insert('t', {});
    const headers = {'if-match': '*'};
    expectError(await tenant.request('PATCH', at('x'), {patch: {n: 1}}, headers), 404, 'op.not_found');
    expectError(await tenant.request('DELETE', at('x'), undefined, headers), 404, 'op.not_found');
    const put = await tenant.request('PUT', at('x'), {fields: {}}, headers);
    expect(expectError(put, 412, 'op.precondition_failed').detail).toEqual({id: 'x', version: null});
  });

  test('of many writers who read the same version lets one through', async () => {
    const id = await tenant.insert('t', {n: 0});
    const headers = {'if-match': etagOf(await read(id))};
    const replies = await Promise.all(
      Array.from({length: 20}, (_, n) => tenant.request('PATCH', at(id), {patch: {n}}, headers)),
    );
    expect(replies.map(({status}) => status).sort()).toEqual([200, ...Array(19).fill(412)]);
    const winner = replies.findIndex(({status}) => status === 200);
    expect(await tenant.get('t', id)).toMatchObject({n: winner});
  });

  test('belongs to what an Idempotency-Key stands for', async () => {
    const id = await tenant.insert('t', {n: 0});
    const etag = etagOf(await read(id));
    const send = (match: string) =>
      tenant.request('PATCH', at(id), {patch: {n: 1}}, {'if-match': match, 'idempotency-key': mine});
    expect((await send(etag)).status).toBe(200);
    expect((await send(etag)).status).toBe(200); // the first reply, though the version is another by now
    expectError(await send('*'), 409, 'op.conflict');
  });
});

describe('conditions', () => {
  test('in several lines are one list', async () => {
    const id = await tenant.insert('t', {n: 0});
    const send = async (method: 'GET' | 'PATCH', name: string, values: string[]) => {
      const reply = await request(`${service.url}/api/tenants/${tenant.id}${at(id)}`, {
        method,
        headers: ['authorization', `Bearer ${service.accessToken}`, ...values.flatMap(value => [name, value])],
        ...(method === 'GET' ? {} : {body: '{"increment":{"n":1}}'}),
      });
      await reply.body.dump();
      return reply.statusCode;
    };
    const etag = etagOf(await read(id));
    expect(await send('GET', 'if-none-match', ['"x"', `"y", ${etag}`])).toBe(304);
    expect(await send('PATCH', 'if-match', ['"x"', etag])).toBe(200);
    expect(await send('PATCH', 'if-match', ['"x"', etag])).toBe(412);
    expect(await tenant.get('t', id)).toMatchObject({n: 1});
  });

  test('that nothing judges are refused, with what does', async () => {
    const id = await tenant.insert('t', {n: 0});
    const before = await records();
    for (const name of ['if-match', 'if-none-match']) {
      const reply = await tenant.request('POST', '/documents', {table: 't', fields: {}}, {[name]: '*'});
      expect(expectError(reply, 400, 'op.invalid_input').message).toMatch(/PUT it with If-None-Match: \*/);
    }
    const reply = await read(id, {'if-match': '*'});
    expect(expectError(reply, 400, 'op.invalid_input').message).toMatch(/a read judges If-None-Match alone/);
    expect(await records()).toBe(before);
  });
});

describe('PUT of a document', () => {
  test('replaces all fields: 200; the creation time stays', async () => {
    const id = await tenant.insert('t', {a: 1, b: 2});
    const {_creationTime} = await tenant.get('t', id);
    const reply = await tenant.request('PUT', at(id), {fields: {b: 3}});
    expect([reply.status, reply.body]).toEqual([200, {id}]);
    expect(await tenant.get('t', id)).toEqual({_id: id, _creationTime, _updateTime: expect.any(Number), b: 3});
  });

  test('makes what is not there, of an id that a caller may choose: 201, 201 again with its key; else 404', async () => {
    const key = {'idempotency-key': mine};
    for (let i = 0; i < 2; i++) {
      const reply = await tenant.request('PUT', at(mine), {fields: {a: 1}}, key);
      expect([reply.status, reply.body]).toEqual([201, {id: mine}]);
    }
    expect((await tenant.request('PUT', at(mine), {fields: {a: 1}})).status).toBe(200);
    const id = await tenant.insert('t', {});
    await tenant.delete('t', id);
    expectError(await tenant.request('PUT', at(id), {fields: {}}), 404, 'op.not_found');
    expectError(await tenant.request('PUT', '/documents/t/%20%2F', {fields: {}}), 400, 'op.invalid_input');
  });

  test('with If-None-Match: * makes a document or is 412', async () => {
    const make = () => tenant.request('PUT', at(mine), {fields: {}}, {'if-none-match': '*'});
    expect((await make()).status).toBe(201);
    expectError(await make(), 412, 'op.precondition_failed');
  });

  test('of an id that is taken in another table is 409', async () => {
    await tenant.request('PUT', `/documents/u/${mine}`, {fields: {}});
    expectError(await tenant.request('PUT', at(mine), {fields: {}}), 409, 'op.conflict');
  });

  test.each([
    [{}, 'fields'],
    [{fields: []}, 'fields'],
    [{fields: {}, patch: {}}, 'patch is not'],
    [{fields: {_a: 1}}, 'fields._a'],
  ])('of %j is 400 that names what is wrong', async (body, named) => {
    expect(expectError(await tenant.request('PUT', at(mine), body), 400, 'op.invalid_input').message).toContain(named);
  });
});

describe('a patch', () => {
  const patch = (id: string, body: object) => tenant.request('PATCH', at(id), body);

  test('sets, removes, increments, appends and removes elements in one write', async () => {
    const id = await tenant.insert('t', {a: 1, b: 2, n: 5, tags: ['x', {k: [1]}, 'y', 'x'], o: {deep: 1}});
    const before = await records();
    const body = {
      patch: {a: null, new: 1},
      unset: ['b', 'missing'],
      increment: {n: -2.5, from0: 3},
      append: {list: [1, [2]]},
      remove: {tags: ['x', {k: [1]}], missing2: [1]},
    };
    expect((await patch(id, body)).body).toEqual({id});
    const {_id, _creationTime, _updateTime, ...own} = await tenant.get('t', id);
    expect(own).toEqual({a: null, new: 1, n: 2.5, from0: 3, list: [1, [2]], tags: ['y'], o: {deep: 1}});
    expect(await records()).toBe(before + 1);
  });

  test('loses no increment and no element of many at once', async () => {
    const id = await tenant.insert('t', {});
    await Promise.all(Array.from({length: 60}, (_, i) => patch(id, {increment: {n: 1}, append: {all: [i]}})));
    const {n, all} = (await tenant.get('t', id)) as unknown as {n: number; all: number[]};
    expect(n).toBe(60);
    expect(all.toSorted((a, b) => a - b)).toEqual([...Array(60).keys()]);
  });

  test.each([
    [{increment: {s: 1}}, {field: 's', found: 'string'}],
    [{increment: {z: 1}}, {field: 'z', found: 'null'}],
    [{increment: {big: 1e308}}, {field: 'big', found: 'number'}],
    [{append: {n: [1]}}, {field: 'n', found: 'number'}],
    [{remove: {o: [1]}}, {field: 'o', found: 'object'}],
  ])('that does not fit the document is 409 with the field: %j', async (body, detail) => {
    const id = await tenant.insert('t', {s: 'x', z: null, big: 1.7e308, n: 1, o: {}});
    expect(expectError(await patch(id, {patch: {a: 1}, ...body}), 409, 'op.conflict').detail).toEqual(detail);
    expect(await tenant.get('t', id)).not.toHaveProperty('a');
  });

  test.each([
    [{}, 'patch, unset, increment, append, remove'],
    [{patch: {}, incremnt: {n: 1}}, 'incremnt is not'],
    [{patch: {a: 1}, unset: ['a']}, '"a"'],
    [{unset: ['a', 'a']}, '"a"'],
    [{unset: ['_id']}, '_id'],
    [{increment: {_n: 1}}, '_n'],
    [{increment: {n: '1'}}, 'increment.n'],
    [{append: {a: 1}}, 'append.a'],
    [{increment: {'a\nb': '1'}}, 'increment.a\nb'],
    [{append: {'a\nb': 'xyz'}}, 'append.a\nb'],
    [{remove: {'a\u2028b': 1}}, 'remove.a\u2028b'],
    [{append: {a: [{$x: 1}]}}, 'append.a[0]'],
    [{unset: 'a'}, 'unset'],
  ])('of %j is 400 that names what is wrong', async (body, named) => {
    const id = await tenant.insert('t', {});
    expect(expectError(await patch(id, body), 400, 'op.invalid_input').message).toContain(named);
  });

  test('that names nothing writes nothing', async () => {
    const id = await tenant.insert('t', {});
    const before = await records();
    expect((await patch(id, {unset: [], increment: {}, patch: {}})).status).toBe(200);
    expect(await records()).toBe(before);
  });
});

/* A naive model: documents as objects, versions counted. */

type Step = {
  do: 'put' | 'patch' | 'delete' | 'get';
  id: string;
  /** Which of the versions seen so far is named: none, the present one, or an older one. */
  match: 'none' | 'present' | 'older' | 'any';
  n: number;
};
const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('put' as const, 'patch' as const, 'delete' as const, 'get' as const),
  id: fc.constantFrom('a', 'b'),
  match: fc.constantFrom('none' as const, 'present' as const, 'older' as const, 'any' as const),
  n: fc.integer({min: 0, max: 3}),
});

test('whatever is written under whatever conditions, the model tells each status and every version', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 20, maxLength: 60, size: 'max'}), async steps => {
      tenant = await Tenant.make(service);
      const model = new Map<string, {n: number; etag: string}>();
      const seen: string[] = ['"0-0"'];
      for (const {do: verb, id, match, n} of steps) {
        const there = model.get(id);
        const older = seen.find(etag => etag !== there?.etag)!;
        const tag = {none: null, present: there?.etag ?? '"1-1"', older, any: '*'}[match];
        const holds = tag === null || (there !== undefined && (tag === '*' || tag === there.etag));
        const headers = tag === null ? {} : {[verb === 'get' ? 'if-none-match' : 'if-match']: tag};
        if (verb === 'get') {
          const reply = await read(id, headers);
          const unchanged = tag !== null && holds;
          expect(reply.status).toBe(there === undefined ? 404 : unchanged ? 304 : 200);
          if (there !== undefined) expect(etagOf(reply)).toBe(there.etag);
          if (reply.status === 200) expect(reply.body).toMatchObject({document: {n: there!.n}});
        } else if (verb === 'put') {
          const reply = await tenant.request('PUT', at(id), {fields: {n}}, headers);
          expect(reply.status).toBe(holds ? (there === undefined ? 201 : 200) : 412);
          if (holds) model.set(id, {n, etag: etagOf(reply)});
        } else if (verb === 'patch') {
          const reply = await tenant.request('PATCH', at(id), {increment: {n}}, headers);
          expect(reply.status).toBe(there === undefined ? 404 : holds ? 200 : 412);
          if (there !== undefined && holds) model.set(id, {n: there.n + n, etag: etagOf(reply)});
        } else {
          const reply = await tenant.request('DELETE', at(id), undefined, headers);
          expect(reply.status).toBe(there === undefined ? 404 : holds ? 204 : 412);
          if (holds) model.delete(id);
        }
        const now = model.get(id);
        if (now !== undefined && now.etag !== there?.etag) {
          expect(seen).not.toContain(now.etag);
          seen.push(now.etag);
        }
      }
      const listed = (await tenant.list('t')).map(({_id, n}) => [_id, n]).sort();
      expect(listed).toEqual([...model].map(([id, {n}]) => [id, n]).sort());
      await service.request('DELETE', `/api/tenants/${tenant.id}`);
    }),
    {numRuns: rounds({commit: 5, nightly: 40})},
  );
});
