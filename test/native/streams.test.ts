/** `svc/client` against answers that are made up: what of a stream comes in which pieces, and how it is asked for again. */
import {expect, test} from 'vitest';
import {createClient, type NativeClient, SvcClientError} from '../../sdk/native/index.ts';

type Sent = {url: string; headers: Headers; body: unknown};
type Options = {key?: () => string; retries?: number};

/** A client whose requests are answered by these, one after the other; the last one again and again. */
function answered(answers: (() => Response)[], options: Options = {}): {db: NativeClient; sent: Sent[]} {
  const sent: Sent[] = [];
  const fetched = async (url: unknown, init?: RequestInit) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)]!;
    sent.push({url: String(url), headers: new Headers(init?.headers), body: init?.body});
    return answer();
  };
  const db = createClient({url: 'http://svc', tenant: 't', key: 'k', fetch: fetched as typeof fetch, ...options});
  return {db, sent};
}

const refused = (status: number, code: string) => () => Response.json({error: {code, message: 'm'}}, {status});

async function failureOf(call: Promise<unknown>): Promise<SvcClientError> {
  const caught: unknown = await call.then(
    () => new Error('it succeeded'),
    error => error,
  );
  expect(caught).toBeInstanceOf(SvcClientError);
  return caught as SvcClientError;
}

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
