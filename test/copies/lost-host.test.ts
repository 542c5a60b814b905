/** Done when a lost host comes back from its repository, and each moment of its tenants. `SVC_SEED=7` repeats a round. */
import {randomInt} from 'node:crypto';
import {expect, test} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {LostHost} from './lost-host.ts';

const ROUNDS = Number(process.env.SVC_ROUNDS ?? rounds({commit: 1, nightly: 12}));
const KILLS = rounds({commit: 3, nightly: 10});
/** Of each round, over its tenants. */
const POINTS = rounds({commit: 8, nightly: 85});

const seeds =
  process.env.SVC_SEED === undefined
    ? Array.from({length: ROUNDS}, () => randomInt(2 ** 31))
    : [Number(process.env.SVC_SEED)];

test.each(seeds)(
  'every tenant is restored to its head, and to random points (seed %i)',
  async seed => {
    const host = await LostHost.begin(seed);
    host.service.showLogOnFailure();
    try {
      const killed = await host.survive(KILLS);
      const histories = await host.settle();
      await host.lose();
      const repository = await host.open();
      const random = seededRandom(seed);
      for (const load of host.loads) {
        const {id} = load.tenant;
        const history = histories.get(id)!;
        expect(load.unexpected).toEqual([]);
        expect(host.missing(load, history), `after ${killed}`).toEqual([]);
        const newest = await host.compare(repository, id, history, 'newest');
        expect(newest, `after ${killed}`).toEqual({sequence: history.head, differences: []});
        const least = (await repository.copies(id)).timelines[0]!.bases[0]!;
        for (let i = 0; i < POINTS / host.loads.length; i++) {
          const wanted = least.sequence + Math.floor(random() * (history.head - least.sequence + 1));
          const timeMs = history.records[wanted - 1]?.timestamp ?? least.timeMs;
          const target = random() < 0.5 || timeMs < least.timeMs ? {sequence: wanted} : {timeMs};
          const {sequence, differences} = await host.compare(repository, id, history, target);
          expect(differences, `${JSON.stringify(target)} after ${killed}`).toEqual([]);
          expect(sequence).toBeLessThanOrEqual('sequence' in target ? wanted : history.sequenceAt(timeMs));
        }
      }
      repository.close();
    } finally {
      await host.end();
    }
  },
  600_000,
);
