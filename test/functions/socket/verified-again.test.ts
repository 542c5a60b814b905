/** Whose word about a user is good changes while it is being asked for: what was said before the change says nothing. */
import {expect, test} from 'vitest';
import {ServiceError} from '../../../shared/errors.ts';
import type {Verified} from '../../../worker/functions/sync/session.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran} from './played.ts';

type Asked = {resolve: (verified: Verified) => void; reject: (error: Error) => void};

function played(): {asked: Asked[]; sync: ReturnType<Played['sync']>; client: PlayedClient} {
  const parts = new Played();
  const asked: Asked[] = [];
  parts.verify = () => new Promise((resolve, reject) => asked.push({resolve, reject}));
  parts.run = ({identity}) => ran(identity, {identityUsed: true});
  const sync = parts.sync();
  return {asked, sync, client: new PlayedClient(sync)};
}

const ada = {identity: '"ada"', expMs: Number.POSITIVE_INFINITY};
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
  expect(client.shown(1)).toBe('"ada"');
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
