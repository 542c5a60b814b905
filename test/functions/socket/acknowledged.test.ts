/** A client that asks after a write was acknowledged is shown that write, also where others still wait for it. */
import {beforeEach, expect, test} from 'vitest';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

let played: Played;
/** Ends the run for the write. */
let finish: (() => void) | null;

beforeEach(() => {
  played = new Played();
  finish = null;
  played.verify = async token => ({identity: JSON.stringify(token), expMs: Number.POSITIVE_INFINITY});
  played.run = async ({identity}) => {
    const sequence = played.sequence;
    if (sequence > 0) await new Promise<void>(resolve => (finish = resolve));
    return ran([identity, sequence], {sequence, readSet: reads('a'), identityUsed: true});
  };
});

test('a new socket does not share an answer that a write before it has closed', async () => {
  const sync = played.sync();
  const first = new PlayedClient(sync);
  first.watch(['m:a']);
  await until('the first result', () => first.shown(1) !== undefined);
  played.write('a');
  await until('the run for the write', () => finish !== null);
  const second = new PlayedClient(sync);
  second.watch(['m:a']);
  // What it is sent for this message comes after everything that could be sent for its query.
  first.watch([]);
  await until('an answer to another client', () => first.transitions.at(-1)!.to.query_set === 2);
  expect(second.transitions).toEqual([]);
  finish!();
  await until('its result', () => second.transitions.length > 0);
  expect(second.transitions[0]).toMatchObject({to: {query_set: 1, ts: 1}, changes: [{value: [null, 1]}]});
});

test('nor does one that becomes another user', async () => {
  const sync = played.sync();
  const [first, second] = [new PlayedClient(sync), new PlayedClient(sync)];
  first.authenticate('ann');
  for (const client of [first, second]) client.watch(['m:a']);
  await until('the first results', () => [first, second].every(client => client.shown(1) !== undefined));
  played.write('a');
  await until('a run for the write', () => finish !== null);
  second.authenticate('ann');
  first.watch([]);
  await until('an answer to another client', () => first.transitions.at(-1)!.to.query_set === 2);
  const {length} = second.transitions;
  expect(second.transitions[length - 1]!.to.identity).toBe(0);
  await until('its result as that user', () => {
    finish!();
    return second.transitions.length > length;
  });
  expect(second.transitions[length]).toMatchObject({to: {identity: 1, ts: 1}, changes: [{value: ['"ann"', 1]}]});
});
