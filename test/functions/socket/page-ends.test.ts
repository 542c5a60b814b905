/**
 * Where a held page ends, with runs that the test plays: there where its first run ended it, for as long as it is watched (the reference,
 * 3.7), whichever user its client becomes, whichever clients share it, and however it is run.
 */
import {beforeEach, describe, expect, test} from 'vitest';
import type {Run} from '../../../worker/functions/sync/queries/query-runs.ts';
import type {Sync} from '../../../worker/functions/sync/sync.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

let played: Played;
let sync: Sync;
/** Whether the functions look at who asks. */
let looks: boolean;
/** Whose cursors are those of another query. */
let isOthers: (run: Run) => boolean;
let runs: Run[];
let ends: number;

/** A page ends at the given place, or at a new one. Its value says where, for whom, and when. */
function page(run: Run) {
  runs.push(run);
  const facts = {readSet: reads('k'), sequence: played.sequence, identityUsed: looks};
  if (run.journal !== null && isOthers(run)) {
    const result = {ok: false as const, error: 'InvalidCursor: of another query', lines: [], own: []};
    return {...ran(null, {...facts, endCursor: null}), result};
  }
  const endCursor = run.journal ?? `end ${++ends}`;
  return ran([endCursor, run.identity, played.sequence], {...facts, endCursor});
}

beforeEach(() => {
  played = new Played();
  looks = true;
  isOthers = () => false;
  runs = [];
  ends = 0;
  played.run = page;
  played.verify = async token => ({identity: JSON.stringify(token), expMs: Number.POSITIVE_INFINITY});
  sync = played.sync();
});

/** Where what it shows ends. */
const endOf = (client: PlayedClient, id = 1) => (client.shown(id) as [string] | undefined)?.[0];
const isAt = (client: PlayedClient, identity: string | null, id = 1) => {
  const [, who, at] = (client.shown(id) ?? []) as [string, string | null, number];
  return who === (identity === null ? null : JSON.stringify(identity)) && at === played.sequence;
};

async function watching(identity: string | null, more: object = {}): Promise<PlayedClient> {
  const client = new PlayedClient(sync);
  if (identity !== null) client.authenticate(identity);
  client.watch(['m:page'], 1, more);
  await until('a page', () => client.shown(1) !== undefined);
  return client;
}

describe('a page that looks at who asks ends where it did', () => {
  test('when its client becomes another user, and anonymous again, and something is written', async () => {
    const client = await watching('ada');
    for (const next of ['grace', 'ada', 'grace']) {
      client.authenticate(next);
      await until(next, () => isAt(client, next));
      expect(endOf(client)).toBe('end 1');
      played.write('k');
      await until('the write', () => isAt(client, next));
      expect(endOf(client)).toBe('end 1');
    }
    client.leave();
  });

  test('for each of those who become the same, each where its own did', async () => {
    const [ada, grace] = [await watching('ada'), await watching('grace')];
    expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 2']);
    grace.authenticate('ada');
    await until('both are the same', () => isAt(grace, 'ada'));
    for (let n = 0; n < 2; n++) {
      expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 2']);
      played.write('k');
      await until('the write', () => isAt(ada, 'ada') && isAt(grace, 'ada'));
    }
    for (const client of [ada, grace]) client.leave();
  });

  test('when its runs look no more: who had ends of their own are not given those of others', async () => {
    const [ada, grace] = [await watching('ada'), await watching('grace')];
    for (const isLooking of [false, true, false]) {
      looks = isLooking;
      played.write('k');
      await until('the write', () => isAt(ada, 'ada') && isAt(grace, 'grace'));
      expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 2']);
    }
    for (const client of [ada, grace]) client.leave();
  });

  test('when its runs did not look before', async () => {
    looks = false;
    const [ada, grace] = [await watching('ada'), await watching('grace')];
    expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 1']);
    looks = true;
    played.write('k');
    await until('the write', () => isAt(ada, 'ada') && isAt(grace, 'grace'));
    expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 1']);
    for (const client of [ada, grace]) client.leave();
  });
});

test('a page whose cursor is of another query for who its client is now begins anew, for them alone', async () => {
  const known = {journal: 'end 0'};
  const [ada, grace] = [await watching('ada', known), await watching('grace', known)];
  isOthers = ({identity, journal}) => identity === '"edsger"' && journal === 'end 0';
  ada.authenticate('edsger');
  await until('the other user', () => isAt(ada, 'edsger'));
  expect(endOf(ada)).toBe('end 1');
  for (let n = 0; n < 2; n++) {
    played.write('k');
    await until('the write', () => isAt(ada, 'edsger') && isAt(grace, 'grace'));
    expect([endOf(ada), endOf(grace)]).toEqual(['end 1', 'end 0']);
  }
  for (const client of [ada, grace]) client.leave();
});

test('pages that are run in one snapshot end where they did, and go on ending where those did that were run so first', async () => {
  const together: Run[][] = [];
  let isBusy = false;
  played.run = run => {
    const one = page(run);
    if (isBusy) played.write('k');
    return one;
  };
  played.runTogether = async asked => {
    together.push([...asked]);
    const rans = asked.map(page);
    isBusy = together.length < 3;
    return {rans, sequence: played.sequence};
  };
  const client = new PlayedClient(sync);
  client.watch(['m:page', 'm:other']);
  await until('both', () => client.shown(2) !== undefined);
  const before = [endOf(client, 1), endOf(client, 2)];
  isBusy = true;
  played.write('k');
  await until('runs in one snapshot, and then none', () => !isBusy && together.length >= 3);
  await until('the newest', () => isAt(client, null, 1) && isAt(client, null, 2));
  for (const asked of together) expect(asked.map(({journal}) => journal)).toEqual(before);
  expect([endOf(client, 1), endOf(client, 2)]).toEqual(before);
  client.leave();
});

test('newcomers get a page of the length that they ask for once something was written, and share it before', async () => {
  looks = false;
  const [first, second] = [await watching(null), await watching(null)];
  expect([endOf(first), endOf(second)]).toEqual(['end 1', 'end 1']);
  played.write('k');
  await until('the write', () => isAt(second, null));
  const third = await watching(null);
  expect([endOf(first), endOf(second), endOf(third)]).toEqual(['end 1', 'end 1', 'end 2']);
  for (const client of [first, second, third]) client.leave();
});
