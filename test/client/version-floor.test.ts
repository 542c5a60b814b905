/** Results that came another way than over the socket, as with a page: the client is shown nothing older. */
import {describe, expect, test} from 'vitest';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scriptedEngine} from './clients.ts';
import {result, settled} from './scripted-server.ts';

const list = makeFunctionReference<'query'>('messages:list');

function watching() {
  const {server, engine} = scriptedEngine();
  const told: number[] = [];
  engine.onChange(changed => void told.push(changed.size));
  engine.subscribe(list);
  return {server, engine, told};
}

describe('the oldest version that may be shown', () => {
  test('is in the greeting, and any first transition answers it: a database file may have been put back', async () => {
    const {server, engine} = watching();
    engine.notBefore({timeline: 'first', ts: 7});
    engine.notBefore({timeline: 'first', ts: 4});
    await settled();
    const socket = server.open();
    expect(socket.sent('client_hello')[0]!.seen).toEqual({timeline: 'first', ts: 7});
    expect(socket.sent('query_set').map(({seen}) => seen)).toEqual([undefined]);
    expect(engine.isBehind({timeline: 'first', ts: 7})).toBe(true);
    socket.transition(3, [result(0, [])]);
    expect(engine.isBehind({timeline: 'first', ts: 7})).toBe(false);
    expect(engine.isBehind({timeline: 'first', ts: 8})).toBe(true);
  });

  test('goes with a query set of its own over an open socket, and who listens hears when it is reached', async () => {
    const {server, engine, told} = watching();
    await settled();
    const socket = server.open();
    socket.transition(5, [result(0, [])]);
    engine.notBefore({timeline: 'first', ts: 5});
    await settled();
    expect(socket.sent('query_set')).toHaveLength(1);
    engine.notBefore({timeline: 'first', ts: 7});
    await settled();
    expect(socket.sent('query_set')[1]).toEqual({
      type: 'query_set',
      base_version: 1,
      new_version: 2,
      changes: [],
      seen: {timeline: 'first', ts: 7},
    });
    const at = {timeline: 'first', ts: 7};
    expect([told.length, engine.isBehind(at)]).toEqual([1, true]);
    socket.transition(7);
    expect([told.slice(1), engine.isBehind(at)]).toEqual([[0], false]);
    // The next socket gets the newest version that was shown.
    engine.notBefore({timeline: 'first', ts: 9});
    socket.drop(1012);
    await settled();
    expect(engine.isBehind({timeline: 'first', ts: 9})).toBe(true);
  });

  test('of another history says nothing once the server has answered', async () => {
    const {server, engine} = watching();
    const version = {timeline: 'other', ts: 2};
    engine.notBefore(version);
    await settled();
    const socket = server.open();
    expect(engine.isBehind(version)).toBe(true);
    socket.transition(1, [result(0, [])]);
    expect(engine.isBehind(version)).toBe(false);
  });
});
