/** What a client has shown that came another way, as in a page that a server rendered: its socket sends nothing older. */
import {setImmediate as nextTurn} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

test('a client that has seen a version is sent no older one while its queries still run', async () => {
  const played = new Played();
  let finish: (() => void) | null = null;
  played.run = async () => {
    const sequence = played.sequence;
    if (sequence > 0) await new Promise<void>(resolve => (finish = resolve));
    return ran(sequence, {sequence, readSet: reads('a')});
  };
  const client = new PlayedClient(played.sync());
  client.watch(['m:a']);
  await until('the first result', () => client.shown(1) === 0);
  played.write('a');
  await until('the run for the write', () => finish !== null);

  // Another history, and a version that there is not: they say nothing here.
  client.saw(1, 'two');
  client.saw(2);
  await until('an answer', () => client.transitions.at(-1)!.to.query_set === 3);
  expect(client.transitions.at(-1)!.to.ts).toBe(0);

  client.saw(1);
  const before = client.transitions.length;
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect(client.transitions.length).toBe(before);
  finish!();
  await until('the newer version', () => client.shown(1) === 1);
  expect(client.transitions.slice(before).map(({to}) => to)).toEqual([{query_set: 4, identity: 0, ts: 1}]);
});
