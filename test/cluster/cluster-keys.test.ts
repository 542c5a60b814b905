/** API keys that three hosts change at the same time, on a log in memory that loses answers and delays watches. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, expect, test} from 'vitest';
import {ClusterKeys} from '../../cluster/host/cluster-keys.ts';
import {LEASE_MS, NATS_SILENT_MS, RENEW_MS} from '../../cluster/limits.ts';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {FollowedRecords} from '../../cluster/log/small-records.ts';
import {delay} from '../../cluster/log/timing.ts';
import {memberKey} from '../../cluster/members/member-record.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {Grant, KeyRecord, KeyRequest} from '../../shared/ipc/keys.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import {Keys} from '../../supervisor/keys/keys.ts';
import {rounds} from '../harness/nightly.ts';
import {FaultyEngine} from './harness/faulty-engine.ts';
import {MemoryEngine, MemoryStreams} from './harness/memory-engine.ts';
import {PausableHost} from './harness/pausable-host.ts';
import {randomFaults} from './harness/random-faults.ts';
import {CLUSTER} from './harness/rig.ts';
import {VirtualTime} from './harness/virtual-time.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-cluster-keys-'));
afterAll(() => rmSync(directory, {recursive: true}));

const GRANT: Grant = {scopes: ['data:read'], tenants: null, tables: null, expires_at: null, rate_limit: null};
const silent = {error: () => undefined, warn: () => undefined} as never;
let made = 0;

class Host {
  readonly keys: Keys;
  readonly reports: string[] = [];
  /** Ids of the keys that its routers accept. */
  readonly routers = new Map<string, KeyRecord>();
  readonly #end = new AbortController();
  readonly #cluster: ClusterKeys;

  constructor(time: VirtualTime, streams: MemoryStreams, random: (() => number) | null, path: string | null = null) {
    const faults = random === null ? null : randomFaults(random, {share: 0.1, pauses: 0});
    const clock = new PausableHost(time);
    const engine = new FaultyEngine(new MemoryEngine(streams, time), time, faults?.choosesFault ?? (() => 'none'));
    const {records} = new ReplicatedLog(clock.pausing(engine, faults?.lagMs), CLUSTER, clock);
    const {signal} = this.#end;
    this.#cluster = new ClusterKeys({
      ...{records, clock, host: 'a', leaseMs: LEASE_MS, onCurrent: () => undefined},
      send: notice => this.keys.received(notice),
      report: sentence => this.reports.push(sentence),
    });
    this.keys = new Keys({
      path: path ?? join(directory, `${made++}.sqlite`),
      cluster: {
        keyTurn: () => this.#cluster.turn(signal),
        putKey: (key, turn) => this.#cluster.put(key, turn, signal),
        removeKey: key => this.#cluster.remove(key, signal),
      },
      tellRouters: async message => this.#apply(message),
      now: () => 1_000,
      log: silent,
    });
    void this.#cluster.watch(signal);
  }

  /** As a host that joins. */
  async join(): Promise<this> {
    await this.#cluster.listed(this.#end.signal);
    for (const key of this.keys.unknownToCluster()) await this.#cluster.adopt(key, this.#end.signal);
    return this;
  }

  ask<T>(request: KeyRequest): Promise<T> {
    return this.keys.perform(request) as Promise<T>;
  }

  create(name: string): Promise<{key: Key; secret: string}> {
    return this.ask({action: 'key_create', actor: null, name, grant: GRANT});
  }

  close(): void {
    this.#end.abort();
    this.keys.close();
  }

  #apply(message: SupervisorToRouter): void {
    if (message.type === 'key_put') this.routers.set(message.key.id, message.key);
    if (message.type === 'key_removed') this.routers.delete(message.key);
  }
}

type Work = (
  start: (random?: () => number, path?: string) => Host,
  parts: {time: VirtualTime; streams: MemoryStreams},
) => Promise<void>;

async function inCluster(work: Work) {
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  const hosts: Host[] = [];
  const start = (random: (() => number) | null = null, path: string | null = null) => {
    const host = new Host(time, streams, random, path);
    hosts.push(host);
    return host;
  };
  await time.run(
    work(start, {time, streams}).finally(() => {
      for (const host of hosts) host.close();
    }),
  );
}

test('a key that one host made, rotated and revoked is so on a host that joins later', () =>
  inCluster(async start => {
    const a = await start().join();
    const {key} = await a.create('app');
    const {key: revoked} = await a.create('old');
    await a.ask({action: 'key_rotate', actor: null, key: key.id, overlapMs: 0});
    await a.ask({action: 'key_revoke', actor: null, key: revoked.id});
    const b = await start().join();
    expect([...b.routers.values()]).toEqual([...a.routers.values()]);
    expect([...b.routers.keys()]).toEqual([key.id]);
    await expect(b.create('app')).rejects.toThrow('there is a key "app" already');
  }));

test('a server that becomes a host brings its keys, but not one that the cluster revoked', () =>
  inCluster(async start => {
    const path = join(directory, 'single.sqlite');
    const single = new Keys({path, cluster: null, tellRouters: async () => {}, now: () => 1_000, log: silent});
    const request = {action: 'key_create', actor: null, grant: GRANT} as const;
    const kept = (await single.perform({...request, name: 'kept'})) as {key: Key};
    single.close();
    const a = await start().join();
    const b = await start(undefined, path).join();
    const {key: gone} = await a.create('gone');
    await b.ask({action: 'key_revoke', actor: null, key: kept.key.id});
    b.close();
    await a.ask({action: 'key_revoke', actor: null, key: gone.id});
    const again = await start(undefined, path).join();
    expect([...again.routers.keys()]).toEqual([]);
    expect([...a.routers.keys()]).toEqual([]);
  }));

test('servers that come back with older stores: keys are changed and revoked on all hosts that run', () =>
  inCluster(async (start, {time, streams}) => {
    const records = {kind: 'records'} as const;
    const hosts = [await start().join(), await start().join()] as const;
    const [a, b] = hosts;
    const {key: kept} = await a.create('kept');
    const {key: revoked} = await a.create('revoked');
    const {sequence} = streams.of(records);
    const {key: lost} = await a.create('lost');
    await a.ask({action: 'key_rotate', actor: null, key: kept.id, overlapMs: 0});
    await a.ask({action: 'key_revoke', actor: null, key: revoked.id});
    await delay(time, RENEW_MS);
    streams.loseAfter(records, sequence);
    await delay(time, 2 * RENEW_MS);
    const ids = () => hosts.map(({routers}) => [...routers.keys()].sort());
    expect(ids(), 'a key that was revoked stays so where that is known').toEqual(
      hosts.map(() => [kept.id, lost.id].sort()),
    );
    await b.ask({action: 'key_rotate', actor: null, key: kept.id, overlapMs: 0});
    await b.ask({action: 'key_rotate', actor: null, key: lost.id, overlapMs: 0});
    await delay(time, RENEW_MS);
    expect([...a.routers.values()]).toEqual([...b.routers.values()]);
    for (const key of [kept, lost]) await a.ask({action: 'key_revoke', actor: null, key: key.id});
    await delay(time, RENEW_MS);
    expect(ids()).toEqual([[], []]);
    expect([...(await start().join()).routers.keys()], 'the log has the older state of this one').toEqual([revoked.id]);
  }));

test(
  'names are unique and acknowledged changes stay, whatever hosts do at the same time',
  async () => {
    const step = fc.record({
      host: fc.nat({max: 2}),
      does: fc.constantFrom('create', 'create', 'rotate', 'revoke'),
      name: fc.constantFrom('x', 'y', 'z'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, {minLength: 1, maxLength: 6}), {minLength: 1, maxLength: 5}),
        fc.nat(),
        (waves, seed) =>
          inCluster(async start => {
            let state = seed;
            const random = () => {
              state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
              return state / 2 ** 32;
            };
            const hosts = [start(random), start(random), start(random)];
            for (const host of hosts) await host.join();
            const stored = new Set<string>();
            const revoked = new Set<string>();
            const perform = async ({host, does, name}: {host: number; does: string; name: string}) => {
              const by = hosts[host]!;
              const known = by.keys.records().find(record => record.name === name);
              try {
                if (does === 'create') stored.add((await by.create(name)).key.id);
                else if (known === undefined) return;
                else if (does === 'rotate') {
                  const {secret} = await by.ask<{secret: string}>({
                    action: 'key_rotate',
                    actor: null,
                    key: known.id,
                    overlapMs: 0,
                  });
                  expect(secret).toContain(known.id);
                } else {
                  await by.ask({action: 'key_revoke', actor: null, key: known.id});
                  revoked.add(known.id);
                  expect(by.routers.has(known.id)).toBe(false);
                }
              } catch (error) {
                // Which the cluster process answers as 503.
                const isAnswer = error instanceof ServiceError;
                if (!isAnswer && !(error instanceof EngineError)) throw error;
                if (isAnswer)
                  expect([
                    'op.conflict',
                    'op.not_found',
                    'session.outcome_unknown',
                    'session.worker_unavailable',
                  ]).toContain(error.code);
                // What became of it is not known.
                if (does === 'revoke' && known !== undefined) revoked.add(known.id);
              }
            };
            for (const wave of waves) await Promise.all(wave.map(perform));
            const late = await start().join();
            const names = [...late.routers.values()].map(({name}) => name);
            expect(new Set(names).size).toBe(names.length);
            for (const id of stored) if (!revoked.has(id)) expect(late.routers.has(id)).toBe(true);
            for (const host of hosts) {
              // A turn waits until the host has received everything.
              await host.create(`last-${hosts.indexOf(host)}`).catch(() => undefined);
              expect(host.reports).toEqual([]);
            }
          }),
      ),
      {numRuns: rounds({commit: 15, nightly: 1_000})},
    );
  },
  rounds({commit: 120_000, nightly: 900_000}),
);

test('keys are current as of the newest own update that their watch received, and a watch that receives none is replaced', async () => {
  const time = new VirtualTime();
  const clock = new PausableHost(time);
  const end = new AbortController();
  const received: number[] = [];
  const begun: number[] = [];
  async function* follow(_: readonly string[], signal: AbortSignal): AsyncGenerator<FollowedRecords> {
    begun.push(clock.nowMs);
    yield {isListing: true, records: new Map()};
    for (; !signal.aborted; await delay(time, 10)) {
      for (const revision of received.splice(0))
        yield {isListing: false, records: new Map([[memberKey('a'), {value: Buffer.of(1), revision}]])};
    }
  }
  let changes = 0;
  const keys = new ClusterKeys({
    ...{records: {follow} as never, clock, host: 'a', leaseMs: LEASE_MS},
    ...{send: () => undefined, report: () => undefined, onCurrent: () => changes++},
  });
  const forever = 1e9;
  await time.run(
    (async () => {
      const watching = keys.watch(end.signal);
      await keys.listed(end.signal);
      expect(keys.currentUntil(forever)).toBe(Number.NEGATIVE_INFINITY);
      const [first, second] = [clock.nowMs, clock.nowMs + 100];
      keys.ownStored(5, first);
      expect(keys.currentUntil(forever)).toBe(Number.NEGATIVE_INFINITY);
      received.push(5);
      await delay(time, 100);
      expect(keys.currentUntil(forever)).toBe(first + LEASE_MS);
      expect(keys.currentUntil(first)).toBe(first);
      expect(changes).toBe(1);
      // It can be received before the answer to it.
      received.push(8);
      await delay(time, 100);
      expect(keys.currentUntil(forever)).toBe(first + LEASE_MS);
      keys.ownStored(8, second);
      expect(keys.currentUntil(forever)).toBe(second + LEASE_MS);
      for (let revision = 9; begun.length === 1; revision++) {
        keys.ownStored(revision, clock.nowMs);
        await delay(time, RENEW_MS);
      }
      expect(begun[1]! - second).toBeLessThan(NATS_SILENT_MS + 4 * RENEW_MS);
      expect(keys.currentUntil(forever)).toBe(second + LEASE_MS);
      received.push(1_000);
      await delay(time, 100);
      const newest = keys.currentUntil(forever);
      expect(newest).toBeGreaterThan(clock.nowMs);
      // Servers with older stores give earlier revisions again: those were not received.
      keys.ownStored(7, clock.nowMs);
      expect(keys.currentUntil(forever)).toBe(newest);
      received.push(7);
      await delay(time, 100);
      expect(keys.currentUntil(forever)).toBeGreaterThan(newest);
      end.abort();
      await watching;
    })(),
  );
});
