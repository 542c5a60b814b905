/** Sessions whose queries never meet in one moment by themselves: their queries are run in one snapshot, once for all who ask for the same. */
import {beforeEach, describe, expect, test, vi} from 'vitest';
import {FUNCTION_SOCKET_WINDOW_BYTES, MOMENTS_MISSED_MAX} from '../../../worker/functions/limits.ts';
import type {Ran, Run} from '../../../worker/functions/sync/queries/query-runs.ts';
import {until} from '../../harness/until.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

let played: Played;
/** Queries that were run, each alone, and in one snapshot. */
let alone: Run[];
let together: {runs: Run[]; moment: number}[];
let isBusy: boolean;

beforeEach(() => {
  played = new Played();
  alone = [];
  together = [];
  isBusy = true;
  // What each reads is written before its answer is there: an answer is right in one moment, and never in that of the other.
  played.run = run => {
    alone.push(run);
    const one = ran(played.sequence, {readSet: reads('k'), sequence: played.sequence});
    if (isBusy) played.write('k');
    return one;
  };
  played.runTogether = async runs => {
    const moment = played.sequence;
    together.push({runs: [...runs], moment});
    await new Promise(resolve => setImmediate(resolve));
    if (isBusy) played.write('k');
    return {rans: runs.map(() => ran(moment, {readSet: reads('k'), sequence: moment})), sequence: moment};
  };
});

/** Its transitions that show something. */
const shows = (client: PlayedClient) => client.transitions.filter(({changes}) => changes.length > 0);

test('queries that miss each other in every moment are run in one snapshot, and shown together', async () => {
  const client = new PlayedClient(played.sync());
  client.watch(['m:a', 'm:b']);
  await until('two transitions', () => shows(client).length >= 2);
  for (const path of ['m:a', 'm:b']) {
    const before = alone.filter(run => run.path === path).length;
    expect(before).toBeGreaterThanOrEqual(MOMENTS_MISSED_MAX - 1);
  }
  const moments = together.map(({moment}) => moment);
  for (const {to, changes} of shows(client)) {
    expect(moments).toContain(to.ts);
    expect(changes).toMatchObject([{value: to.ts}, {value: to.ts}]);
  }
  // Left in peace they meet by themselves.
  isBusy = false;
  await until('the newest moment', () => client.transitions.at(-1)!.to.ts === played.sequence);
  client.leave();
});

describe('what is not written to is not run again beside them', () => {
  beforeEach(() => {
    const {run, runTogether} = played;
    const readSetOf = ({path}: Run) => reads(path === 'm:slow' ? 'other' : 'k');
    const ofSlow = (asked: Run, one: Ran) => ({...one, readSet: readSetOf(asked)});
    played.run = async asked => ofSlow(asked, await run(asked));
    played.runTogether = async runs => {
      const {rans, sequence} = await runTogether(runs);
      return {rans: rans.map((one, i) => ofSlow(runs[i]!, one)), sequence};
    };
  });

  test('and holds up nobody', async () => {
    const client = new PlayedClient(played.sync());
    client.watch(['m:slow', 'm:a', 'm:b']);
    await until('five transitions', () => shows(client).length >= 5);
    expect(alone.filter(({path}) => path === 'm:slow')).toHaveLength(1);
    for (const {runs} of together) expect(runs.map(({path}) => path)).toEqual(['m:a', 'm:b']);
    expect(together.map(({moment}) => moment)).toContain(client.transitions.at(-1)!.to.ts);
    isBusy = false;
    client.leave();
  });

  test('unless it is written to before the others have their snapshot: then all are run in one', async () => {
    const client = new PlayedClient(played.sync());
    client.watch(['m:slow', 'm:a', 'm:b']);
    const {runTogether} = played;
    played.runTogether = async runs => {
      if (runs.length === 2) played.write('other');
      return await runTogether(runs);
    };
    await until('what was run with it', () => together.some(({runs}) => runs.length === 3));
    const {moment} = together.find(({runs}) => runs.length === 3)!;
    await until('its moment', () => shows(client).some(({to}) => to.ts === moment));
    isBusy = false;
    await until('the newest moment', () => client.transitions.at(-1)!.to.ts === played.sequence);
    for (const id of [2, 3]) expect(client.shown(id)).toBe(client.transitions.at(-1)!.to.ts);
    client.leave();
  });
});

describe('of many sessions that watch the same', () => {
  test('one run in one snapshot serves all', async () => {
    const sync = played.sync();
    const clients = Array.from({length: 50}, () => new PlayedClient(sync));
    for (const client of clients) client.watch(['m:a', 'm:b']);
    await until('ten transitions', () => clients.every(client => shows(client).length >= 10));
    expect(new Set(together.map(({moment}) => moment)).size).toBe(together.length);
    // A client that sees nothing of a batch, because it has a newer version by then, makes the others no worse.
    const shown = clients.reduce((sum, client) => sum + shows(client).length, 0);
    expect(together.length).toBeLessThan(shown / 5);
    for (const {runs} of together) expect(runs.map(({path}) => path)).toEqual(['m:a', 'm:b']);
    isBusy = false;
    for (const client of clients) client.leave();
  });

  test('what was run together is the answer of those who watch a part of it, too', async () => {
    isBusy = false;
    const sync = played.sync();
    const [both, one] = [new PlayedClient(sync), new PlayedClient(sync)];
    both.watch(['m:a', 'm:b']);
    one.watch(['m:b']);
    await until('first answers', () => both.shown(2) !== undefined && one.shown(1) !== undefined);
    // Alone m:b does not come to an end any more.
    const ends: (() => void)[] = [];
    const {run} = played;
    played.run = async asked => {
      if (asked.path === 'm:b') await new Promise<void>(resolve => ends.push(resolve));
      return await run(asked);
    };
    isBusy = true;
    played.write('k');
    await until('what was run together', () => (one.shown(1) as number) > 0);
    expect(together.map(({moment}) => moment)).toContain(one.shown(1));
    expect(alone.filter(({path}) => path === 'm:b')).toHaveLength(1);
    isBusy = false;
    for (const client of [both, one]) client.leave();
    for (const end of ends) end();
  });

  test('another user has a run of their own if the function uses the identity', async () => {
    played.verify = async token => ({identity: JSON.stringify(token), expMs: Number.POSITIVE_INFINITY});
    const looking = (run: Run) => (run.path === 'm:me' ? run.identity : played.sequence);
    const {run, runTogether} = played;
    played.run = async asked => ({
      ...(await run(asked)),
      result: ran(looking(asked)).result,
      identityUsed: asked.path === 'm:me',
    });
    played.runTogether = async runs => {
      const {rans, sequence} = await runTogether(runs);
      const all = rans.map((one, i) => {
        return {...one, result: ran(looking(runs[i]!)).result, identityUsed: runs[i]!.path === 'm:me'};
      });
      return {rans: all, sequence};
    };
    const sync = played.sync();
    const names = ['ada', 'grace', 'edsger'];
    const clients = names.map(() => new PlayedClient(sync));
    for (const [i, client] of clients.entries()) {
      client.authenticate(names[i]!);
      client.watch(['m:me', 'm:n']);
    }
    await until('some moments of each', () => clients.every(client => client.transitions.length >= 5));
    isBusy = false;
    for (const [i, client] of clients.entries()) {
      const shown = shows(client).flatMap(({changes}) => changes.filter(({query_id}) => query_id === 1));
      for (const update of shown) expect(update).toMatchObject({value: JSON.stringify(names[i])});
      client.leave();
    }
  });
});

test('who could not be shown what was run together is shown it before what others are shown by then', async () => {
  const sync = played.sync();
  const [quick, slow] = [new PlayedClient(sync), new PlayedClient(sync)];
  for (const client of [quick, slow]) client.watch(['m:a', 'm:b']);
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
  };
  let finish: (() => void) | undefined;
  const moments: number[] = [];
  played.runTogether = async runs => {
    const moment = played.sequence;
    moments.push(moment);
    await new Promise<void>(resolve => (finish = resolve));
    return {rans: runs.map(() => ran(moment, {readSet: reads('k'), sequence: moment})), sequence: moment};
  };
  await until('what is run together', () => finish);
  await turns();
  // From here on alone nothing comes to an end.
  const ends: (() => void)[] = [];
  played.run = async () => {
    await new Promise<void>(resolve => ends.push(resolve));
    return ran(played.sequence, {readSet: reads('k'), sequence: played.sequence});
  };
  await until('both runs', () => ends.length === 2);
  played.write('k');
  // The network of one takes nothing for a while.
  const credited = vi.spyOn(sync, 'credited');
  const {credited: real} = Object.getPrototypeOf(sync) as typeof sync;
  credited.mockImplementation((link, ...more) => void (link === quick.link && real.call(sync, link, ...more)));
  const value = JSON.stringify('x'.repeat(FUNCTION_SOCKET_WINDOW_BYTES));
  played.call = async () => ({ok: true, value, lines: [], own: []});
  slow.say({type: 'action', request_id: 1, path: 'm:long', args: {}});
  await until('what fills its window', () => slow.messages.some(({type}) => type === 'action_result'));
  finish!();
  await until('the moment', () => shows(quick).at(-1)?.to.ts === moments[0]);
  for (const end of ends) end();
  for (let step = 0; step < 50; step++) await Promise.resolve();
  credited.mockRestore();
  sync.credited(slow.link, 1, 2 * FUNCTION_SOCKET_WINDOW_BYTES);
  const isThere = (client: PlayedClient) => client.transitions.some(({to}) => to.ts === played.sequence);
  await until('the newest moment', () => isThere(quick) && isThere(slow));
  await turns();
  expect(slow.transitions.map(({to}) => to.ts)).toContain(moments[0]);
  for (const {transitions} of [quick, slow]) {
    expect(transitions.slice(1).map(({from}) => from)).toEqual(transitions.slice(0, -1).map(({to}) => to));
  }
  for (const client of [quick, slow]) client.leave();
});

test('a moment is missed only with an answer that is new', async () => {
  // m:slow is never there; whatever else makes a session look again and again misses nothing.
  isBusy = false;
  played.mutate = async () => ({
    result: {ok: true, value: 'null', lines: [], own: []},
    ts: played.sequence,
  });
  const sync = played.sync();
  const client = new PlayedClient(sync);
  client.watch(['m:a', 'm:b']);
  await until('both', () => client.shown(2) !== undefined);
  let finish: (() => void) | undefined;
  const {run} = played;
  played.run = async asked => {
    if (asked.path === 'm:b') await new Promise<void>(resolve => (finish = resolve));
    return await run(asked);
  };
  played.write('k');
  await until('the slow run', () => finish);
  for (let id = 1; id <= 20; id++) {
    client.say({type: 'mutation', request_id: id, path: 'm:c', args: {}, settled_below: 0});
    await until('its answer', () =>
      client.messages.some(one => one.type === 'mutation_result' && one.request_id === id),
    );
  }
  expect(together).toEqual([]);
  finish!();
  await until('the newest moment', () => client.transitions.at(-1)!.to.ts === played.sequence);
  client.leave();
});
