/** What deleted tenants, and those that could not be made, leave in the log when the host ends that was to remove it. */
import {createHash} from 'node:crypto';
import {expect, test, vi} from 'vitest';
import {answerOf} from '../../cluster/host/answers.ts';
import type {ClusterHost} from '../../cluster/host/cluster-host.ts';
import {Leftovers} from '../../cluster/host/leftovers.ts';
import {LEFTOVERS_POLL_MS} from '../../cluster/limits.ts';
import {Owned} from '../../cluster/log/packages.ts';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {delay} from '../../cluster/log/timing.ts';
import type {Clock} from '../../cluster/members/clock.ts';
import type {ServingHost} from '../../cluster/members/members.ts';
import {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {newTenant, type Owner} from '../../cluster/ownership/tenant-record.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {createLogger} from '../../shared/log.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {hostOf} from './harness/rig.ts';

const A = {host: 'a', incarnation: 1};
const B = {host: 'b', incarnation: 1};
const C = {host: 'c', incarnation: 1};
const TENANT = {id: 'acme', generation: 1};
const TARBALL = Buffer.from('a package');
/** Longer than two looks at the notes and what they cause. */
const LONG_MS = 4 * LEFTOVERS_POLL_MS;

type Course = {
  readonly log: ReplicatedLog;
  readonly entries: TenantEntries;
  /** A host that serves, and looks at notes. */
  start(self: Owner): Leftovers;
  end(host: Owner): void;
  /** The hosts have files of the tenant. */
  know(): void;
  passes(): Promise<void>;
  /** A file in the store. */
  store(): Promise<void>;
  left(): Promise<{files: number; notes: number}>;
};

function course(work: (course: Course) => Promise<void>): Promise<void> {
  const rig = memoryRig();
  return rig.run(async () => {
    const {replicated: log} = await hostOf(rig);
    const clock = rig.timing as Clock;
    const hosts = new Map<Owner, AbortController>();
    const serving = () =>
      [...hosts.keys()]
        .map(({host, incarnation}) => ({host, record: {incarnation}}) as ServingHost)
        .sort((one, other) => (one.host < other.host ? -1 : 1));
    const entries = new TenantEntries(log.records, new AbortController().signal);
    let isKnown = false;
    await work({
      ...{log, entries},
      start: self => {
        const end = new AbortController();
        hosts.set(self, end);
        const leftovers = new Leftovers({
          ...{replicated: log, entries, members: {serving}, clock, self: () => self, signal: end.signal},
          ...{isKnown: () => isKnown, onGone: () => undefined, log: createLogger({}, {write: () => undefined})},
        });
        void leftovers.run();
        return leftovers;
      },
      end: host => {
        hosts.get(host)!.abort();
        hosts.delete(host);
      },
      know: () => {
        isKnown = true;
      },
      passes: () => delay(clock, LONG_MS),
      store: async () => {
        const sha512 = createHash('sha512').update(TARBALL).digest('hex');
        const put = {sha512, file: sourceOf(TARBALL), replaces: false};
        expect(await log.packages.put(new Owned(TENANT, 1), put)).toEqual({kind: 'stored'});
      },
      left: async () => ({
        files: (await log.packages.list(TENANT)).length,
        notes: (await log.records.list('leftover.')).size,
      }),
    });
    for (const end of hosts.values()) end.abort();
  });
}

test('a host makes a tenant of a file for as long as it takes, and then there is no note', () =>
  course(async ({entries, start, store, passes, left}) => {
    const [a] = [A, B].map(start);
    expect(await a!.note(TENANT)).toBe('noted');
    await store();
    await passes();
    expect(await left()).toEqual({files: 1, notes: 1});
    expect(await entries.add(TENANT.id, newTenant(1, 1))).toMatchObject({kind: 'stored'});
    await a!.made(TENANT);
    await passes();
    expect(await left()).toEqual({files: 1, notes: 0});
  }));

test('what a host had made until it ended is removed, and that host cannot go on with it', () =>
  course(async ({entries, start, end, store, passes, left}) => {
    const [a] = [A, B, C].map(start);
    expect(await entries.reserve(TENANT.id)).toBe(TENANT.generation);
    await a!.note(TENANT);
    await store();
    end(A);
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
    expect(await entries.add(TENANT.id, newTenant(1, 1))).toEqual({kind: 'missing'});
    expect(await entries.create(TENANT.id, 1)).toMatchObject({kind: 'stored', record: {isDeleted: false}});
  }));

test('a tenant that was made before its host ended stays', () =>
  course(async ({entries, start, end, store, passes, left}) => {
    const [a] = [A, B].map(start);
    await a!.note(TENANT);
    await store();
    await entries.add(TENANT.id, newTenant(1, 1));
    end(A);
    await passes();
    expect(await left()).toEqual({files: 1, notes: 0});
    expect(await entries.update(TENANT.id, record => record)).toMatchObject({kind: 'stored'});
  }));

test.each([
  ['by the host that deleted it', A],
  ['by another host if that one ends', null],
])('what is left of a deleted tenant is removed %s', (_, stays) =>
  course(async ({log, entries, start, end, store, passes, left}) => {
    const [a] = [A, B].map(start);
    await entries.add(TENANT.id, newTenant(1, 1));
    await store();
    await a!.note(TENANT);
    await entries.remove(TENANT);
    const forgotten = a!.forget(TENANT);
    if (stays === null) end(A);
    await forgotten;
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
    expect(await log.packages.list(TENANT)).toEqual([]);
  }),
);

test('a host looks at what it does not know itself: the entry says whether the tenant is there', () =>
  course(async ({entries, start, store, passes, left}) => {
    // Not the first one by name.
    const [, b] = [A, B].map(start);
    await b!.note(TENANT);
    await store();
    await entries.add(TENANT.id, newTenant(1, 1));
    b!.unknown(TENANT);
    await passes();
    expect(await left()).toEqual({files: 1, notes: 0});
    await b!.note(TENANT);
    await entries.remove(TENANT);
    b!.unknown(TENANT);
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
  }));

test('a read that misses the tenant removes nothing of it: the entry says that it is there', () =>
  course(async ({entries, start, store, passes, left}) => {
    const a = start(A);
    await entries.add(TENANT.id, newTenant(1, 1));
    await store();
    const stale = {update: entries.update.bind(entries), remove: async () => ({kind: 'missing'})};
    const host = {entries: stale, leftovers: a} as unknown as ClusterHost;
    const deleted = answerOf(host, {does: 'delete', tenant: TENANT.id});
    await expect(deleted).rejects.toMatchObject({code: 'session.tenant_not_found'});
    await passes();
    expect(await left()).toEqual({files: 1, notes: 0});
  }));

test('a tenant whose entry the servers have lost stays while hosts have its files', () =>
  course(async ({entries, start, end, know, store, passes, left}) => {
    const [a] = [A, B].map(start);
    await a!.note(TENANT);
    await store();
    know();
    end(A);
    await passes();
    expect(await left()).toEqual({files: 1, notes: 1});
    await entries.add(TENANT.id, newTenant(1, 1));
    await entries.remove(TENANT);
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
  }));

test('a note is there once it is noted, also if an earlier one is removed meanwhile', () =>
  course(async ({log, start, end, left}) => {
    const [a, b] = [A, B].map(start);
    await b!.note(TENANT);
    const {records} = log;
    vi.spyOn(records, 'get').mockImplementationOnce(async key => {
      const found = await records.get(key);
      await b!.made(TENANT);
      return found;
    });
    expect(await a!.note(TENANT)).toBe('noted');
    expect(await left()).toMatchObject({notes: 1});
    end(A);
  }));

test('a note of a host that was not a member yet is read', () =>
  course(async ({start, end, store, passes, left}) => {
    const early = {...A, incarnation: 0};
    const [a] = [early, B].map(start);
    await a!.note(TENANT);
    await store();
    end(early);
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
  }));

test('a host that joins again looks at the notes of its last membership', () =>
  course(async ({start, end, store, passes, left}) => {
    await start(A).note(TENANT);
    await store();
    end(A);
    start({...A, incarnation: 2});
    await passes();
    expect(await left()).toEqual({files: 0, notes: 0});
  }));

test('a host that is no member removes nothing', () =>
  course(async ({start, end, store, passes, left}) => {
    const [a] = [A, B].map(start);
    await a!.note(TENANT);
    await store();
    end(A);
    const b = start(B);
    end(B);
    b.unknown(TENANT);
    await passes();
    expect(await left()).toEqual({files: 1, notes: 1});
  }));

test('a note that cannot be read keeps nothing else from being removed', () =>
  course(async ({log, start, end, store, passes, left}) => {
    const [a] = [A, B].map(start);
    await a!.note(TENANT);
    await store();
    await log.records.set('leftover.aaa_1', Buffer.from('{'), 0);
    await log.records.set('leftover.name', Buffer.from('{}'), 0);
    end(A);
    await passes();
    expect(await left()).toEqual({files: 0, notes: 2});
  }));
