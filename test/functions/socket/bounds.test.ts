/** What sockets may cost the memory of their worker, whatever they ask for and however little they read. */
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, expect, test} from 'vitest';
import {FUNCTION_PROTOCOL} from '../../../shared/protocol/function-socket/version.ts';
import {SOCKET_RESULTS_CHARS_MAX, SOCKETS_WAITING_CHARS_MAX} from '../../../worker/functions/limits.ts';
import type {Sync} from '../../../worker/functions/sync/sync.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const syncs: Sync[] = [];
afterEach(() => {
  for (const sync of syncs.splice(0)) sync.close();
});

function newSync(): {played: Played; sync: Sync} {
  const played = new Played();
  const sync = played.sync();
  syncs.push(sync);
  return {played, sync};
}

async function turns(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !isDone(); turn++) await nextTurn();
  expect(isDone()).toBe(true);
}

test('one long result under many numbers is sent as often as it fits, and the rest once there is room', async () => {
  const {played, sync} = newSync();
  const part = 8;
  const text = 'x'.repeat(SOCKET_RESULTS_CHARS_MAX / part - 2);
  played.run = ({path}) => ran(path === 'a:long' ? text : 'short', {readSet: reads(path)});
  const client = new PlayedClient(sync);
  client.watch([...Array.from({length: 2 * part}, () => 'a:long'), 'a:short']);
  await turns(() => client.shown(2 * part + 1) !== undefined);
  const told = Array.from({length: 2 * part}, (_, n) => client.shown(n + 1));
  expect(told.filter(one => one === text)).toHaveLength(part);
  for (const one of told.slice(part)) expect(one).toMatch(/^! .*at most \d+ characters together/);
  client.remove(1);
  await turns(() => client.shown(part + 1) === text);
  expect(client.shown(part + 2)).toMatch(/^! /);
});

test('answers for sockets that read nothing are kept up to a limit for all, and who reads is not concerned', async () => {
  const {played, sync} = newSync();
  const value = JSON.stringify('x'.repeat(4 * 1024 * 1024));
  played.call = async () => ({ok: true, value, lines: [], own: []});
  const reader = new PlayedClient(sync);
  const closed = new Map<number, string>();
  let sent = 0;
  const link = {
    socketMessage: () => void sent++,
    socketCredit: () => undefined,
    socketResumes: () => undefined,
    closeSocket: (stream: number, code: number, reason: string) => closed.set(stream, `${code} ${reason}`),
  };
  const silent = 2 * Math.ceil(SOCKETS_WAITING_CHARS_MAX / value.length / 8);
  for (let stream = 1; stream <= silent; stream++) {
    const say = (message: object) => sync.message(link, stream, Buffer.from(JSON.stringify(message)), false);
    sync.opened(link, stream, '', null);
    const client_id = `silent-client-${String(stream).padStart(4, '0')}`;
    say({type: 'client_hello', protocol: FUNCTION_PROTOCOL, client_id, connection_count: 0});
    for (let id = 0; id < 9; id++) say({type: 'action', request_id: id, path: 'a:long', args: {}});
    await nextTurn();
  }
  const cached = (silent - closed.size) * 8 * value.length;
  expect(cached).toBeLessThanOrEqual(2 * SOCKETS_WAITING_CHARS_MAX);
  expect(new Set(closed.values())).toEqual(new Set(['1013 session.overloaded']));
  reader.say({type: 'action', request_id: 1, path: 'a:long', args: {}});
  await turns(() => reader.messages.some(({type}) => type === 'action_result'));
  expect(reader.closed).toBeNull();
  sync.released(link);
});
