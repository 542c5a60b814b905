/** A page that keeps its end for another user becomes another subscribed query: that needs room as any other does. */
import {expect, test} from 'vitest';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const identity = (user: string) => JSON.stringify({tokenIdentifier: `issuer|${user}`});

test('a page that moves to a key of its own asks for room, and comes back with its end when there is some', async () => {
  const played = new Played();
  let ends = 0;
  played.verify = async token => ({identity: identity(token), expMs: Number.POSITIVE_INFINITY});
  played.run = run => {
    const endCursor = run.journal ?? `end ${++ends}`;
    return ran([endCursor, run.identity], {readSet: reads('k'), identityUsed: true, endCursor});
  };
  const sync = played.sync({subscribedMax: 2});
  const watching = async (user: string, path: string) => {
    const client = new PlayedClient(sync);
    client.authenticate(user);
    client.watch([path]);
    await until('a page', () => client.shown(1) !== undefined);
    return client;
  };
  const [moving, staying, other] = [
    await watching('ada', 'm:page'),
    await watching('bob', 'm:page'),
    await watching('eve', 'm:other'),
  ];
  const [end] = moving.shown(1) as [string, string];
  moving.authenticate('grace');
  await until('an answer', () => String(moving.shown(1)).startsWith('! '));
  expect(moving.shown(1)).toBe('! this tenant holds as many live queries as it may');
  expect(sync.queries).toBe(2);
  expect(staying.shown(1)).toEqual(['end 2', identity('bob')]);
  other.remove(1);
  await until('the page', () => Array.isArray(moving.shown(1)));
  expect(moving.shown(1)).toEqual([end, identity('grace')]);
  expect(sync.queries).toBe(2);
  for (const client of [moving, staying, other]) client.leave();
  expect(sync.queries).toBe(0);
});
