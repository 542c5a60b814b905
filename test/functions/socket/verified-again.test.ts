/** Whose word about a user is good changes while it is being asked for: what was said before the change says nothing. */
import {expect, test} from 'vitest';
import {ServiceError} from '../../../shared/errors.ts';
import type {Verified} from '../../../worker/functions/sync/session/session-identity.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran} from './played.ts';

type QueryRequest = {resolve: (verified: Verified) => void; reject: (error: Error) => void};

function played(): {asked: QueryRequest[]; sync: ReturnType<Played['sync']>; client: PlayedClient} {
  const parts = new Played();
  const asked: QueryRequest[] = [];
  parts.verify = () => new Promise((resolve, reject) => asked.push({resolve, reject}));
  parts.run = ({identity}) => ran(identity, {identityUsed: true});
  const sync = parts.sync();
  return {asked, sync, client: new PlayedClient(sync)};
}

const verified = (user: string, expMs = Number.POSITIVE_INFINITY) => ({
  identity: JSON.stringify({tokenIdentifier: `issuer|${user}`}),
  expMs,
});
const ada = verified('ada');
const confirmed = (client: PlayedClient) => client.transitions.some(({to}) => to.identity > 0);

test('a token that is being verified when the providers change is judged by the new ones', async () => {
  const {asked, sync, client} = played();
  client.watch(['m:me']);
  client.authenticate('token');
  sync.verifyAgain();
  asked[0]!.resolve(ada);
  await until('the second question', () => asked.length === 2);
  expect(confirmed(client)).toBe(false);
  asked[1]!.reject(new ServiceError('auth.unauthorized', 'No auth provider found matching the given token'));
  await until('the refusal', () => client.messages.some(({type}) => type === 'auth_error'));
  expect(confirmed(client)).toBe(false);
  expect(client.shown(1) ?? null).toBe(null);
  client.leave();
});

test('one that the old providers did not know is good if the new ones do', async () => {
  const {asked, sync, client} = played();
  client.watch(['m:me']);
  client.authenticate('token');
  sync.verifyAgain();
  sync.verifyAgain();
  asked[0]!.reject(new ServiceError('auth.unauthorized', 'its keys are not fetched any more'));
  await until('the second question', () => asked.length === 2);
  asked[1]!.resolve(ada);
  await until('the confirmation', () => confirmed(client));
  expect(client.messages.filter(({type}) => type === 'auth_error')).toEqual([]);
  expect(client.shown(1)).toBe(ada.identity);
  client.leave();
});

test('one that was good is asked for again, and again if it changes meanwhile', async () => {
  const {asked, sync, client} = played();
  client.watch(['m:me']);
  client.authenticate('token');
  asked[0]!.resolve(ada);
  await until('the confirmation', () => confirmed(client));
  sync.verifyAgain();
  sync.verifyAgain();
  asked[1]!.resolve(ada);
  await until('the third question', () => asked.length === 3);
  asked[2]!.reject(new ServiceError('auth.unauthorized', 'not any more'));
  await until('the refusal', () => client.messages.some(({type}) => type === 'auth_error'));
  client.leave();
});

/** A client whose token was taken, with one mutation under way and one behind it. */
async function waiting() {
  const parts = new Played();
  const asked: QueryRequest[] = [];
  const begun: {identity: string | null; end: () => void}[] = [];
  parts.verify = () => new Promise((resolve, reject) => asked.push({resolve, reject}));
  parts.mutate = (_, __, identity) =>
    new Promise(resolve => {
      const result = {ok: true as const, value: 'null', lines: [], own: []};
      begun.push({identity, end: () => resolve({result, ts: 0})});
    });
  const sync = parts.sync();
  const client = new PlayedClient(sync);
  const signsIn = async (by: Verified | ServiceError) => {
    client.authenticate('token');
    await answered(by);
  };
  const answered = async (by: Verified | ServiceError) => {
    await until('the question', () => asked.length > 0);
    const {resolve, reject} = asked.shift()!;
    if (by instanceof ServiceError) reject(by);
    else resolve(by);
    await until('what came of it', () => client.messages.some(({type}) => type === 'auth_error') || confirmed(client));
  };
  const results = () => client.messages.filter(({type}) => type === 'mutation_result');
  const send = (id: number) => client.say({type: 'mutation', request_id: id, path: 'm:f', args: {}, settled_below: 0});
  return {parts, sync, client, begun, signsIn, answered, results, send};
}
const refusal = new ServiceError('auth.unauthorized', 'not any more');
const another = {ok: false, code: 'auth.unauthorized', error: expect.stringContaining('another user')};

test('a mutation that waits behind another is not begun on a word that is not good any more, and is refused for another user', async () => {
  const {sync, client, begun, signsIn, answered, results, send} = await waiting();
  await signsIn(ada);
  send(1);
  send(2);
  sync.verifyAgain();
  begun[0]!.end();
  await until('the first to be answered', () => results().length === 1);
  expect(begun).toHaveLength(1);
  await answered(refusal);
  await until('the refusal', () => client.messages.some(({type}) => type === 'auth_error'));
  expect(begun).toHaveLength(1);
  await signsIn(verified('grace'));
  await until('the second to be answered', () => results().length === 2);
  expect(results()[1]).toMatchObject({request_id: 2, ...another});
  expect(begun).toHaveLength(1);
  client.leave();
});

test('it goes on when the new providers say the same, with what they say', async () => {
  const {sync, client, begun, signsIn, answered, send} = await waiting();
  await signsIn(ada);
  send(1);
  send(2);
  sync.verifyAgain();
  const anew = {...ada, identity: JSON.stringify({tokenIdentifier: 'issuer|ada', role: 'new'})};
  await answered(anew);
  begun[0]!.end();
  await until('the second to begin', () => begun.length === 2);
  expect(begun.map(({identity}) => identity)).toEqual([ada.identity, anew.identity]);
  client.leave();
});

test('nor when its token has ended meanwhile: auth_error, and it goes on with a fresh one of the same user', async () => {
  const {parts, client, begun, signsIn, results, send} = await waiting();
  let nowMs = 0;
  parts.now = () => nowMs;
  await signsIn(verified('ada', 1_000));
  send(1);
  send(2);
  nowMs = 1_000;
  begun[0]!.end();
  await until('the refusal', () => client.messages.some(({type}) => type === 'auth_error'));
  expect([begun.length, results().length]).toEqual([1, 1]);
  await signsIn(verified('ada', 2_000));
  await until('the second to begin', () => begun.length === 2);
  client.leave();
});
