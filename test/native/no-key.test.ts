/** `svc/client` when the app's `key` gives none: it throws, or it takes for ever. */
import {expect, test} from 'vitest';
import {answered, end, failureOf, open, record, refused, stream} from './answers.ts';

const ENOUGH = new Error('enough');

/** Gives these, one after the other; what is an error is thrown. */
function keys(given: readonly (string | Error)[]): () => Promise<string> {
  let at = 0;
  return async () => {
    const key = given[Math.min(at++, given.length - 1)]!;
    if (key instanceof Error) throw key;
    return key;
  };
}

class NoSocket {
  constructor() {
    throw new Error('a socket was made');
  }
}

test('a `key` that throws before it has given one ends calls, journals and live queries with what it threw', async () => {
  const broken = new Error('nobody is signed in');
  for (const webSocket of [null, NoSocket]) {
    const {db, sent} = answered([() => Response.json({data: []})], {key: keys([broken]), webSocket});
    const live = new Promise<unknown>((_, reject) => void db.live('t', {}, () => {}, {onError: reject}));
    for (const ended of [db.list('t'), db.insert('t', {}), db.journal().next(), live]) {
      const error = await failureOf(ended);
      expect(error).toMatchObject({code: 'client.no_key', status: 0, cause: broken, isTransient: false});
      expect(error.message).toContain('nobody is signed in');
    }
    expect(sent).toEqual([]);
  }
});

test('one that throws later leaves the last key, for as long as that counts', async () => {
  const broken = new Error('the network is gone');
  const key = keys(['first', broken, 'second', broken]);
  const records = [
    stream([open(0, 'a'), record(1), end('session.worker_unavailable')]),
    stream([open(1, 'a'), record(2), end('auth.unauthorized')]),
    stream([open(2, 'a'), record(3), end('auth.unauthorized')]),
    refused(401, 'auth.unauthorized'),
  ];
  const {db, sent} = answered(records, {key});
  const journal = db.journal();
  for (const sequence of [1, 2, 3]) expect(await journal.next()).toMatchObject({value: {sequence}});
  expect(await failureOf(journal.next())).toMatchObject({code: 'client.no_key', cause: broken});
  expect(sent.map(({headers}) => headers.get('authorization'))).toEqual(
    ['first', 'first', 'second', 'second'].map(text => `Bearer ${text}`),
  );
});

test('one that gives a key again is asked no more often than that', async () => {
  const key = keys(['first', new Error('for now'), 'second']);
  const {db} = answered([() => Response.json({data: []})], {key});
  for (let i = 0; i < 3; i++) expect(await db.list('t')).toEqual([]);
  const {db: other} = answered([refused(401, 'auth.unauthorized')], {key: keys(['only'])});
  expect(await failureOf(other.list('t'))).toMatchObject({code: 'auth.unauthorized', status: 401});
});

test('what gives no text gives no key', async () => {
  for (const none of ['', undefined, null]) {
    const {db, sent} = answered([refused(500, 'op.failed')], {key: () => none as string});
    expect(await failureOf(db.list('t'))).toMatchObject({code: 'client.no_key'});
    expect(sent).toEqual([]);
  }
});

test('while it is waited for, signals and time limits count', async () => {
  const {db, sent} = answered([refused(500, 'op.failed')], {key: () => new Promise<string>(() => {}), retries: 0});
  expect(await failureOf(db.list('t', {timeoutMs: 5}))).toMatchObject({code: 'client.timeout'});
  for (const start of [
    (signal: AbortSignal) => db.list('t', {signal}),
    (signal: AbortSignal) => db.journal({signal}).next(),
  ]) {
    const controller = new AbortController();
    const ended = start(controller.signal);
    setImmediate(() => controller.abort(ENOUGH));
    await expect(ended).rejects.toBe(ENOUGH);
  }
  expect(sent).toEqual([]);
});
