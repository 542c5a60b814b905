/** Who has a function socket when there are as many as there may be: no tenant keeps out another, and silent ones go first. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {SocketShares} from '../../router/live/socket-shares.ts';

const MAX = 12;
type Socket = {tenant: string; isUsed: boolean; n: number};

/** Opens sockets as the router does: one more closes the one that has to go. */
class Shares {
  readonly shares = new SocketShares<string, Socket>(MAX);
  /** In the order in which they came. */
  readonly open = new Set<Socket>();
  #n = 0;

  /** @returns the one that went; null: nobody; undefined: it was refused */
  add(tenant: string, isUsed = false): Socket | null | undefined {
    let gone: Socket | null;
    try {
      gone = this.shares.placeFor(tenant);
    } catch (caught) {
      expect(caught).toMatchObject({code: 'session.overloaded'});
      return undefined;
    }
    if (gone !== null) this.close(gone);
    const socket = {tenant, isUsed: false, n: ++this.#n};
    this.open.add(socket);
    this.shares.opened(tenant, socket);
    if (isUsed) this.use(socket);
    return gone;
  }

  use(socket: Socket): void {
    socket.isUsed = true;
    this.shares.isUsed(socket.tenant, socket);
  }

  close(socket: Socket): void {
    this.open.delete(socket);
    this.shares.closed(socket.tenant, socket);
  }

  of(tenant: string): Socket[] {
    return [...this.open].filter(socket => socket.tenant === tenant);
  }

  fill(tenant: string, count: number, isUsed = false): Socket[] {
    for (let n = 0; n < count; n++) this.add(tenant, isUsed);
    return this.of(tenant);
  }
}

describe('while all are taken', () => {
  test('five tenants with silent ones keep no other out: it comes to its share, by the oldest of them', () => {
    const shares = new Shares();
    const tenants = ['a', 'b', 'c'];
    for (const tenant of tenants) shares.fill(tenant, MAX / 3);
    const [oldest] = shares.of('a');
    expect(shares.add('new')).toBe(oldest);
    for (let n = 0; n < MAX; n++) shares.add('new', true);
    expect(['new', ...tenants].map(tenant => shares.of(tenant).length)).toEqual([3, 3, 3, 3]);
    expect(shares.add('new')).toBeUndefined();
  });

  test('silent ones go first, also those of a tenant that has fewer than another', () => {
    const shares = new Shares();
    shares.fill('used', 7, true);
    const [oldest] = shares.fill('silent', 5);
    expect(shares.add('new')).toBe(oldest);
  });

  test('of those that are used the newest of who has most goes, and none of a tenant that has no more than its share', () => {
    const shares = new Shares();
    const most = shares.fill('most', 9, true);
    shares.fill('few', 3);
    expect(shares.add('new')).toBe(most.at(-1));
    expect(shares.of('few')).toHaveLength(3);
  });

  test('a tenant with its share or more gets one for a silent one of its own, and is refused when it has none', () => {
    const shares = new Shares();
    const own = shares.fill('own', MAX);
    for (const socket of own.slice(1)) shares.use(socket);
    expect(shares.add('own', true)).toBe(own[0]);
    expect(shares.add('own')).toBeUndefined();
  });
});

test('whatever comes and goes: as many as there may be, and who is refused or loses one has its share without it', () => {
  const tenant = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({act: fc.constant('open' as const), tenant}),
    fc.record({act: fc.constantFrom('use' as const, 'close' as const), pick: fc.nat(100)}),
  );
  fc.assert(
    fc.property(fc.array(step, {maxLength: 120}), steps => {
      const shares = new Shares();
      for (const one of steps) {
        const all = [...shares.open];
        if (one.act !== 'open') {
          const socket = all[one.pick % Math.max(1, all.length)];
          if (socket !== undefined) shares[one.act](socket);
        } else {
          const share = MAX / new Set([...all.map(socket => socket.tenant), one.tenant]).size;
          const count = (of: string) => all.filter(socket => socket.tenant === of).length;
          const gone = shares.add(one.tenant);
          if (all.length < MAX) expect(gone).toBeNull();
          else if (gone === undefined) expect(count(one.tenant)).toBeGreaterThanOrEqual(share);
          else if (gone!.tenant === one.tenant) expect(gone!.isUsed).toBe(false);
          else {
            expect(count(one.tenant)).toBeLessThan(share);
            expect(count(gone!.tenant)).toBeGreaterThan(share);
            const others = all.filter(socket => count(socket.tenant) > share);
            if (gone!.isUsed) expect(others.every(({isUsed}) => isUsed)).toBe(true);
          }
        }
        expect(shares.shares.size).toBe(shares.open.size);
        expect(shares.open.size).toBeLessThanOrEqual(MAX);
      }
    }),
  );
});
