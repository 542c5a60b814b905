/** A socket that moves from one worker to another: the first answers what it has under way, the second greets the client again. */
import {beforeEach, describe, expect, test, vi} from 'vitest';
import {HELLO_TIMEOUT_MS} from '../../../shared/limits.ts';
import type {ServerMessage} from '../../../shared/protocol/function-socket/server-message.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const OK = {ok: true as const, value: '1', lines: [], own: []};
let played: Played;

beforeEach(() => {
  played = new Played();
  played.run = () => ran(played.sequence, {sequence: played.sequence, readSet: reads('a')});
});

const answers = (client: PlayedClient) => client.messages.filter(({type}) => type.endsWith('_result'));
const mutation = (request_id: number) => ({type: 'mutation', request_id, path: 'm:m', args: {}, settled_below: 0});
const action = (request_id: number) => ({type: 'action', request_id, path: 'm:act', args: {}});

test('a client that can resume is reported, and another one is not', () => {
  const sync = played.sync();
  const [able, other] = [new PlayedClient(sync, 'c'.repeat(16), 'lost'), new PlayedClient(sync)];
  const hello = able.messages[0] as Extract<ServerMessage, {type: 'hello'}>;
  able.greet({session: hello.session.id, resumes: true});
  expect([able.canResume, other.canResume]).toEqual([true, false]);
  sync.close();
});

describe('a socket that moves away', () => {
  test('is closed at once when nothing is under way, and shown nothing more', async () => {
    const client = new PlayedClient(played.sync());
    client.watch(['m:a']);
    await until('the result', () => client.shown(1) === 0);
    const {length} = client.messages;
    client.moves();
    played.write('a');
    expect(client.closed).toMatchObject({code: 1012});
    expect(client.messages.length).toBe(length);
  });

  test('gets the answers of the calls that have begun; those that wait are not run', async () => {
    const ends: (() => void)[] = [];
    const begun: number[] = [];
    played.mutate = async (_, {request_id}) => {
      begun.push(request_id);
      await new Promise<void>(resolve => ends.push(resolve));
      return {result: OK, ts: 1};
    };
    played.call = async () => {
      await new Promise<void>(resolve => ends.push(resolve));
      return OK;
    };
    const client = new PlayedClient(played.sync());
    for (const message of [mutation(1), mutation(2), action(3)]) client.say(message);
    await until('both calls', () => ends.length === 2);
    client.moves();
    client.say(action(4));
    expect(client.closed).toBeNull();
    for (const end of ends) end();
    await until('the close', () => client.closed !== null);
    expect(client.closed).toMatchObject({code: 1012});
    expect(answers(client)).toMatchObject([
      {type: 'mutation_result', request_id: 1, ok: true},
      {type: 'action_result', request_id: 3, ok: true},
    ]);
    expect(begun).toEqual([1]);
  });
});

describe('a resumed socket', () => {
  test.each(['answered', 'lost'] as const)('is greeted with what became of its calls: %s', resumed => {
    const client = new PlayedClient(played.sync(), undefined, resumed);
    expect(client.messages).toMatchObject([{type: 'hello', session: {resumed}}]);
    client.leave();
  });

  test('drops everything up to the hello of this session, and then serves it as a new one', async () => {
    const begun: number[] = [];
    played.mutate = async (_, {request_id}) => {
      begun.push(request_id);
      return {result: OK, ts: 0};
    };
    const client = new PlayedClient(played.sync(), 'c'.repeat(16), 'answered');
    const {session} = client.messages[0] as Extract<ServerMessage, {type: 'hello'}>;
    client.greet(); // of the session before
    client.say({type: 'query_set', base_version: 7, new_version: 8, changes: []});
    client.say(mutation(5));
    client.say(action(6));
    client.greet({session: session.id});
    client.watch(['m:a']);
    client.say(mutation(5));
    await until('the result', () => client.shown(1) === 0 && answers(client).length === 1);
    expect([begun, client.closed]).toEqual([[5], null]);
    expect(client.handledBytes).toBeGreaterThanOrEqual(0);
    client.leave();
  });

  test('is closed without a verdict if its client does not greet', () => {
    vi.useFakeTimers();
    try {
      const client = new PlayedClient(played.sync(), undefined, 'lost');
      vi.advanceTimersByTime(HELLO_TIMEOUT_MS * 2);
      expect(client.closed).toEqual({code: 1012, reason: 'protocol.hello_timeout'});
      expect(client.messages.map(({type}) => type)).toEqual(['hello']);
    } finally {
      vi.useRealTimers();
    }
  });
});
