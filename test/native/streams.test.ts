/** `svc/client` against answers that are made up: what of a stream comes in which pieces, and how it is asked for again. */
import fc from 'fast-check';
import {expect, test, vi} from 'vitest';
import type {NativeClient} from '../../sdk/native/index.ts';
import {answered, end, failureOf, open, record, refused, stream} from './answers.ts';

async function read(db: NativeClient, limit: number): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const {sequence, text} of db.journal({limit}) as AsyncIterable<{sequence: number; text?: unknown}>) {
    records.push([sequence, text]);
  }
  return records;
}

test('events are the same however the network cuts them up', async () => {
  const texts = ['', 'größer 𝄞', 'x'.repeat(300), 'a\nb'];
  const whole = new TextEncoder().encode(
    `retry: 1000\n\n${open(0, 'a')}:\n\n${texts.map((text, at) => record(at + 1, text)).join(':\n\n')}`,
  );
  const expected = texts.map((text, at) => [at + 1, text]);
  const cuts = fc.array(fc.nat({max: whole.length}), {maxLength: 40});
  const everywhere = Array.from(whole, (_, at) => at);
  await fc.assert(
    fc.asyncProperty(cuts, async places => {
      const at = [0, ...places.sort((a, b) => a - b), whole.length];
      const chunks = at.slice(1).map((to, i) => whole.subarray(at[i], to));
      const {db} = answered([stream(chunks)]);
      expect(await read(db, texts.length)).toEqual(expected);
    }),
    {examples: [[everywhere]]},
  );
});

test('a journal that is asked for again has to be the same one', async () => {
  const {db, sent} = answered([stream([open(4, 'a'), record(5)]), refused(410, 'journal.cursor_expired')]);
  const records = db.journal({after: 4});
  expect(await records.next()).toMatchObject({value: {sequence: 5}});
  expect(await failureOf(records.next())).toMatchObject({code: 'journal.cursor_expired', status: 410});
  expect(sent.map(({url}) => new URL(url).search)).toEqual(['?after=4', '?after=4&timeline=a']);
  expect(sent[1]!.headers.get('last-event-id')).toBe('5');
});

test('a stream whose key has ended goes on with the one that there is then', async () => {
  let key = 'first';
  const {db, sent} = answered(
    [
      () => {
        key = 'second';
        return stream([open(0, 'a'), record(1), end('auth.unauthorized')])();
      },
      stream([open(1, 'a'), record(2), end('auth.unauthorized')]),
      refused(401, 'auth.unauthorized'),
    ],
    {key: () => key},
  );
  expect(await failureOf(read(db, 3))).toMatchObject({code: 'auth.unauthorized', status: 401});
  expect(sent.map(({headers}) => headers.get('authorization'))).toEqual([
    'Bearer first',
    'Bearer second',
    'Bearer second',
  ]);
});

test('what ends a stream has the status that it has elsewhere', async () => {
  for (const [code, status] of [
    ['session.tenant_not_found', 404],
    ['journal.cursor_expired', 410],
    ['op.too_large', 413],
    ['op.failed', 500],
  ] as const) {
    const {db, sent} = answered([stream([open(0, 'a'), end(code)])]);
    expect(await failureOf(read(db, 1))).toMatchObject({code, status, isTransient: false});
    expect(sent).toHaveLength(1);
  }
});

test('each attempt of a write is the same, whatever the caller does to its fields meanwhile', async () => {
  const {db, sent} = answered([refused(503, 'session.worker_unavailable'), () => Response.json({id: '1'})]);
  const fields = {n: 1};
  const insert = db.insert('notes', fields);
  fields.n = 2;
  await insert;
  expect(sent.map(({body}) => body)).toEqual(Array(2).fill('{"table":"notes","fields":{"n":1}}'));
  expect(new Set(sent.map(({headers}) => headers.get('idempotency-key'))).size).toBe(1);
});

test('an answer that is not of the service is a bad one, of writes too', async () => {
  const {db} = answered([() => new Response('<html>')]);
  for (const call of [db.list('notes'), db.put('notes', 'a', {}), db.patch('notes', 'a', {})]) {
    expect(await failureOf(call)).toMatchObject({code: 'client.bad_answer', status: 200});
  }
});

test('an answer that is no stream of events is a bad one, and not asked for again', async () => {
  const {db, sent} = answered([() => new Response('<html>', {headers: {'content-type': 'text/html'}})]);
  expect(await failureOf(read(db, 1))).toMatchObject({code: 'client.bad_answer', status: 200});
  expect(sent).toHaveLength(1);
});

test('a stream that begins and ends at once is asked for less and less often', async () => {
  vi.useFakeTimers();
  try {
    const {db, sent} = answered([stream(['retry: 1000\n\n', open(0, 'a'), end('session.worker_unavailable')])]);
    const controller = new AbortController();
    const over = db.journal({signal: controller.signal}).next();
    over.catch(() => {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent.length).toBeGreaterThan(4);
    expect(sent.length).toBeLessThan(20);
    controller.abort(new Error('enough'));
    await expect(over).rejects.toThrow('enough');
  } finally {
    vi.useRealTimers();
  }
});

test('what has come by the time that a signal is aborted is not handed over after it', async () => {
  const {db} = answered([stream([open(0, 'a') + record(1) + record(2)])]);
  const controller = new AbortController();
  const records = db.journal({signal: controller.signal});
  expect(await records.next()).toMatchObject({value: {sequence: 1}});
  controller.abort(new Error('enough'));
  await expect(records.next()).rejects.toThrow('enough');
});
