/** When a tenant has as many function sockets as it may: those on which nobody has asked for anything keep nobody out. */
import {expect, test} from 'vitest';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran} from './played.ts';

const OVERLOADED = {code: 1013, reason: 'session.overloaded'};

test('the oldest of them goes for a further one; without any the further one does', async () => {
  const played = new Played();
  played.run = () => ran('shown');
  played.verify = async () => ({identity: JSON.stringify({tokenIdentifier: 'issuer|ada'}), expMs: 1e15});
  const sync = played.sync({socketsMax: 3});
  const silent = [new PlayedClient(sync), new PlayedClient(sync), new PlayedClient(sync)];
  const watching = new PlayedClient(sync);
  watching.watch(['m:a']);
  await until('a result', () => watching.shown(1) === 'shown');
  const signedIn = new PlayedClient(sync);
  signedIn.authenticate('token');
  expect(silent.map(({closed}) => closed)).toEqual([OVERLOADED, OVERLOADED, null]);
  const calling = new PlayedClient(sync);
  calling.say({type: 'action', request_id: 1, path: 'm:a', args: {}});
  expect(silent[2]!.closed).toEqual(OVERLOADED);
  const late = new PlayedClient(sync);
  expect([late, watching, signedIn, calling].map(({closed}) => closed)).toEqual([OVERLOADED, null, null, null]);
  expect(sync.sessions).toBe(3);
  for (const client of [watching, signedIn, calling]) client.leave();
  expect(sync.sessions).toBe(0);
});
