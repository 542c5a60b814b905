import {describe, expect, test} from 'vitest';
import {Crashes, type Verdict} from '../../supervisor/tenants/crashes.ts';
import {WorkerUsers} from '../../supervisor/tenants/worker-users.ts';

const call = (key: string) => ({name: 'a:b', key});

/** A worker whose address these routers have. */
function usedBy(...routers: number[]): WorkerUsers {
  const users = new WorkerUsers();
  for (const router of routers) users.waitingRouters.add(router);
  users.notify();
  return users;
}

describe('the routers that requested a worker are notified of it', () => {
  test('once each, and they use it from then on', () => {
    const users = new WorkerUsers();
    users.waitingRouters.add(1);
    expect(users.notify()).toEqual([1]);
    expect(users.notify()).toEqual([]);
    users.waitingRouters.add(0);
    expect(users.notify()).toEqual([0]);
    expect([...users.notified]).toEqual([1, 0]);
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
      'another one is notified of it meanwhile',
      users => {
        users.released(1, false);
        users.waitingRouters.add(2);
        users.notify();
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
    users.waitingRouters.add(0);
    users.notify();
    users.givenUp(0);
    expect([...users.notified]).toEqual([0]);
    expect(users.isGivenUp).toBe(false);
  });
});

describe('the death of a worker', () => {
  /** Deaths of a tenant, and what became of each. */
  function judged(): {crashes: Crashes; verdicts: Verdict[]} {
    const verdicts: Verdict[] = [];
    return {
      crashes: new Crashes(
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
    const {crashes, verdicts} = judged();
    crashes.died('w1', calls, unheard);
    crashes.heard(2, 'w1', []);
    expect([verdicts, crashes.isOpen]).toEqual([[], true]);
    crashes.heard(0, 'w1', [call('other')]);
    expect([verdicts, crashes.isOpen]).toEqual([[{isAttributed: true, refused: []}], false]);
    expect(crashes.suspects()!.calls.map(({key}) => key)).toEqual(['bomb', 'other']);
  });

  test('is shared by the calls of all routers: none of them was alone in it', () => {
    const alone = judged();
    const shared = judged();
    for (let crash = 0; crash < 2; crash++) {
      alone.crashes.died('w', [call('bomb')], new Set());
      shared.crashes.died('w', [call('bomb')], new Set([1]));
      shared.crashes.heard(1, 'w', [call('innocent')]);
    }
    const refused = ({crashes}: typeof alone) => crashes.suspects()!.calls.filter(({refusedMs}) => refusedMs > 0);
    expect(refused(alone).map(({key}) => key)).toEqual(['bomb']);
    expect(refused(shared)).toEqual([]);
  });

  test('does not wait for a router that ended, nor past the next death', () => {
    const {crashes, verdicts} = judged();
    crashes.died('w1', [call('bomb')], new Set([0, 1]));
    crashes.heard(0, 'w1', []);
    crashes.routerEnded(1);
    crashes.died('w2', [call('bomb')], new Set([0]));
    crashes.died('w3', [], new Set([0]));
    crashes.end();
    expect(verdicts.map(({isAttributed}) => isAttributed)).toEqual([true, true]);
  });

  test('is reported by a router that could not connect at first, and did then', () => {
    const users = usedBy(0);
    users.lost(0, []);
    users.waitingRouters.add(0);
    users.notify();
    users.lost(0, [call('bomb')]);
    expect(users.ended()).toEqual({calls: [call('bomb')], unheard: new Set()});
  });

  test('is not reported twice by a router, nor by one that did not use the worker', () => {
    const users = usedBy(0);
    users.lost(0, [call('bomb')]);
    users.lost(0, [call('again')]);
    expect(users.ended().calls).toEqual([call('bomb')]);
    const {crashes, verdicts} = judged();
    crashes.died('w2', [], new Set([1]));
    crashes.heard(0, 'w2', [call('bomb')]);
    crashes.heard(1, 'w1', [call('bomb')]);
    expect(verdicts).toEqual([]);
    crashes.heard(1, 'w2', []);
    expect(verdicts).toEqual([{isAttributed: false, refused: []}]);
  });
});
