import {describe, expect, test} from 'vitest';
import {Deaths, type Verdict} from '../../supervisor/tenants/deaths.ts';
import {WorkerUsers} from '../../supervisor/tenants/worker-users.ts';

const call = (key: string) => ({name: 'a:b', key});

/** A worker whose address these routers have. */
function usedBy(...routers: number[]): WorkerUsers {
  const users = new WorkerUsers();
  for (const router of routers) users.asking.add(router);
  users.tell();
  return users;
}

describe('a worker is told to those that asked', () => {
  test('once each, and they use it from then on', () => {
    const users = new WorkerUsers();
    users.asking.add(1);
    expect(users.tell()).toEqual([1]);
    expect(users.tell()).toEqual([]);
    users.asking.add(0);
    expect(users.tell()).toEqual([0]);
    expect([...users.told]).toEqual([1, 0]);
  });
});

describe('a worker is released', () => {
  test('when all that use it say so, and nobody else is asked', () => {
    const users = usedBy(0, 2);
    expect(users.beginRelease()).toEqual([0, 2]);
    expect(users.released(2, false)).toBeNull();
    expect(users.released(0, false)).toEqual({isBusy: false});
    expect(usedBy().beginRelease()).toEqual([]);
  });

  test.each<[string, (users: WorkerUsers) => void]>([
    ['one of them needs it', users => users.released(1, true)],
    [
      'another one is told of it meanwhile',
      users => {
        users.released(1, false);
        users.asking.add(2);
        users.tell();
      },
    ],
  ])('not when %s', (_, happens) => {
    const users = usedBy(0, 1);
    users.beginRelease();
    happens(users);
    expect(users.released(0, false)).toEqual({isBusy: true});
  });

  test('by those that gave it up, even when it stays: they are not asked again until they use it', () => {
    const users = usedBy(0, 1);
    users.beginRelease();
    users.released(0, false);
    users.released(1, true);
    expect(users.beginRelease()).toEqual([1]);
  });

  test('without the answer of a router that ends: it is asked again of the others', () => {
    const users = usedBy(0, 1);
    users.beginRelease();
    users.routerEnded(0);
    expect(users.released(1, false)).toBeNull();
    expect(users.beginRelease()).toEqual([]);
  });
});

describe('a worker that its tenant moves from is given up', () => {
  test('when all that use it say so, lost it or ended', () => {
    const users = usedBy(0, 1, 2);
    expect(users.isGivenUp).toBe(false);
    expect(users.beginMove()).toEqual([0, 1, 2]);
    users.givenUp(1);
    users.lost(0, []);
    expect(users.isGivenUp).toBe(false);
    users.routerEnded(2);
    expect(users.isGivenUp).toBe(true);
  });

  test('before the next one is used: a router that says so late goes on using that', () => {
    const users = usedBy(0);
    users.beginMove();
    users.ended();
    users.asking.add(0);
    users.tell();
    users.givenUp(0);
    expect([...users.told]).toEqual([0]);
    expect(users.isGivenUp).toBe(false);
  });
});

describe('the death of a worker', () => {
  /** Deaths of a tenant, and what became of each. */
  function judged(): {deaths: Deaths; verdicts: Verdict[]} {
    const verdicts: Verdict[] = [];
    return {
      deaths: new Deaths(
        () => 0,
        verdict => verdicts.push(verdict),
      ),
      verdicts,
    };
  }

  test('is judged when every router that used it has said what it had under way, in whatever order', () => {
    const users = usedBy(0, 1, 2);
    users.lost(1, [call('bomb')]);
    const {calls, unheard} = users.ended();
    expect({calls, unheard: [...unheard]}).toEqual({calls: [call('bomb')], unheard: [0, 2]});
    const {deaths, verdicts} = judged();
    deaths.died('w1', calls, unheard);
    deaths.heard(2, 'w1', []);
    expect([verdicts, deaths.isOpen]).toEqual([[], true]);
    deaths.heard(0, 'w1', [call('other')]);
    expect([verdicts, deaths.isOpen]).toEqual([[{isHeld: true, refused: []}], false]);
    expect(deaths.suspects()!.calls.map(({key}) => key)).toEqual(['bomb', 'other']);
  });

  test('is shared by the calls of all routers: none of them was alone in it', () => {
    const alone = judged();
    const shared = judged();
    for (let death = 0; death < 2; death++) {
      alone.deaths.died('w', [call('bomb')], new Set());
      shared.deaths.died('w', [call('bomb')], new Set([1]));
      shared.deaths.heard(1, 'w', [call('innocent')]);
    }
    const refused = ({deaths}: typeof alone) => deaths.suspects()!.calls.filter(({refusedMs}) => refusedMs > 0);
    expect(refused(alone).map(({key}) => key)).toEqual(['bomb']);
    expect(refused(shared)).toEqual([]);
  });

  test('does not wait for a router that ended, nor past the next death', () => {
    const {deaths, verdicts} = judged();
    deaths.died('w1', [call('bomb')], new Set([0, 1]));
    deaths.heard(0, 'w1', []);
    deaths.routerEnded(1);
    deaths.died('w2', [call('bomb')], new Set([0]));
    deaths.died('w3', [], new Set([0]));
    deaths.end();
    expect(verdicts.map(({isHeld}) => isHeld)).toEqual([true, true]);
  });

  test('is told by a router that could not connect at first, and did then', () => {
    const users = usedBy(0);
    users.lost(0, []);
    users.asking.add(0);
    users.tell();
    users.lost(0, [call('bomb')]);
    expect(users.ended()).toEqual({calls: [call('bomb')], unheard: new Set()});
  });

  test('is not told twice by a router, nor by one that did not use the worker', () => {
    const users = usedBy(0);
    users.lost(0, [call('bomb')]);
    users.lost(0, [call('again')]);
    expect(users.ended().calls).toEqual([call('bomb')]);
    const {deaths, verdicts} = judged();
    deaths.died('w2', [], new Set([1]));
    deaths.heard(0, 'w2', [call('bomb')]);
    deaths.heard(1, 'w1', [call('bomb')]);
    expect(verdicts).toEqual([]);
    deaths.heard(1, 'w2', []);
    expect(verdicts).toEqual([{isHeld: false, refused: []}]);
  });
});
