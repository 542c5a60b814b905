/**
 * Clients that read and write tenants by any of three hosts, while these pause at awaits, requests fail, watches are late,
 * clocks run at different speeds, hosts are killed and tenants are handed over. A seed repeats a course. In the end
 * everything is well again, and every host must find every tenant served.
 */
import type {LogEngine} from '../../../cluster/log/log-engine.ts';
import {delay} from '../../../cluster/log/timing.ts';
import {encodeTenant, tenantKey} from '../../../cluster/ownership/tenant-record.ts';
import {seededRandom} from '../../harness/random.ts';
import type {Fault, Request} from './faulty-engine.ts';
import {MemoryStreams} from './memory-engine.ts';
import {type OwnerMutant, OwningHost, valuesOf} from './owning-host.ts';
import {randomFaults} from './random-faults.ts';
import {VirtualTime} from './virtual-time.ts';

const DURATION_MS = 60_000;
/** Afterwards every tenant is served again within this time: a lease, a join, and an opening. */
const HEALED_MS = 60_000;
const SPEEDS = {least: 0.96, most: 1.04};
const TENANTS = ['acme', 'globex'];
const CLIENTS = 4;

export type OwnerHistory = {violations: string[]; reads: number; writes: number; takeovers: number};

export async function ownerHistory(
  seed: number,
  {mutant = 'none', wrap}: {mutant?: OwnerMutant; wrap?: ((engine: LogEngine) => LogEngine) | undefined} = {},
): Promise<OwnerHistory> {
  const random = seededRandom(seed);
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  let isHealed = false;
  const faults = randomFaults(random, {share: 0.1, pauses: 0.002});
  const history: OwnerHistory = {violations: [], reads: 0, writes: 0, takeovers: 0};
  const running = new Map<string, OwningHost>();
  const acknowledged = new Map(TENANTS.map(id => [id, [] as string[]]));
  /** What the longest read has returned. */
  const longest = new Map(TENANTS.map(id => [id, [] as readonly string[]]));
  const epochs = new Map<string, number>();
  let starts = 0;

  const start = (host: string): OwningHost => {
    const owning = new OwningHost(time, streams, {
      host,
      start: (++starts).toString(16).padStart(32, '0'),
      speed: SPEEDS.least + random() * (SPEEDS.most - SPEEDS.least),
      choosesFault: (request: Request): Fault => (isHealed ? 'none' : faults.choosesFault(request)),
      choosesPause: () => (isHealed ? 0 : faults.choosesPause()),
      lagMs: () => (isHealed ? 0 : faults.lagMs()),
      wrap,
      mutant,
    });
    running.set(host, owning);
    return owning;
  };

  const anyHost = (): OwningHost => [...running.values()][Math.floor(random() * running.size)]!;

  const anyTenant = () => TENANTS[Math.floor(random() * TENANTS.length)]!;

  /** Moves tenants. A host that has not joined yet is no owner. */
  const operator = async () => {
    while (time.nowMs < DURATION_MS) {
      await delay(time, random() * 4_000);
      const [by, {self: to}] = [anyHost(), anyHost()];
      if (to.incarnation === 0) continue;
      const moved = by.tenants.move(anyTenant(), to, by.signal).catch(() => false);
      await Promise.race([moved, delay(time, 3_000)]);
    }
  };

  const checkRead = (id: string, before: readonly string[], found: readonly string[], by: string) => {
    history.reads++;
    const missing = before.filter(value => !found.includes(value));
    if (missing.length > 0) history.violations.push(`${by} read ${id} at ${time.nowMs} without ${missing.join(' ')}`);
    const known = longest.get(id)!;
    const common = Math.min(known.length, found.length);
    if (known.slice(0, common).join() !== found.slice(0, common).join()) {
      history.violations.push(`${by} read another history of ${id} at ${time.nowMs}`);
    }
    if (found.length > known.length) longest.set(id, found);
  };

  /** One request, as a router handles it. @returns whether it was answered */
  const request = async (id: string, value: string | null): Promise<boolean> => {
    let host = anyHost();
    let located = await host.locate(id, false);
    if (located.kind === 'there') {
      const other = running.get(located.host);
      if (other === undefined) return false;
      host = other;
      located = await host.locate(id, true);
    }
    if (located.kind !== 'here') return false;
    const name = `${host.self.host}.${host.self.incarnation}`;
    if (located.epoch !== epochs.get(id)) history.takeovers++;
    epochs.set(id, located.epoch);
    if (value !== null) {
      const isAcknowledged = await host.write(id, value);
      if (isAcknowledged !== true) return false;
      history.writes++;
      acknowledged.get(id)!.push(value);
      return true;
    }
    // All that was acknowledged, or returned by a read, before this one.
    const before = [...acknowledged.get(id)!, ...longest.get(id)!];
    const found = host.read(id);
    if (found !== null) checkRead(id, before, found, name);
    return found !== null;
  };

  const client = async (number: number) => {
    for (let i = 0; time.nowMs < DURATION_MS; i++) {
      await delay(time, random() * 400);
      const id = anyTenant();
      // A host that pauses or is killed answers nothing: the client goes on without.
      const answer = request(id, random() < 0.5 ? `${number}-${i}` : null);
      await Promise.race([answer, delay(time, 3_000)]);
    }
  };

  const run = async (host: string) => {
    for (let previous: string | null = null; ; ) {
      const owning = start(host);
      owning.live(previous);
      const lifeMs = 8_000 + random() * 30_000;
      if (time.nowMs + lifeMs >= DURATION_MS) return;
      await delay(time, lifeMs * random());
      if (random() < 0.5) await owning.tenants.release(anyTenant());
      await delay(time, lifeMs * random());
      await owning.kill();
      previous = random() < 0.7 ? starts.toString(16).padStart(32, '0') : null;
    }
  };

  const afterwards = async () => {
    isHealed = true;
    for (const id of TENANTS) {
      for (const host of running.keys()) {
        const answered = async () => {
          for (;;) {
            if (await request(id, null)) return true;
            await delay(time, 100);
          }
        };
        const isServed = await Promise.race([answered(), delay(time, HEALED_MS).then(() => false)]);
        if (!isServed) history.violations.push(`${id} is not served to ${host} again`);
      }
      // Some requests are still under way, and a reading ends at the tail that it found.
      const before = [...acknowledged.get(id)!];
      const values = await valuesOf([...running.values()][0]!.replicated.tenant({id, generation: 1}));
      for (const value of before) {
        const count = values.filter(one => one === value).length;
        if (count !== 1) history.violations.push(`${id} has ${value} ${count} times`);
      }
    }
    await Promise.all([...running.values()].map(host => host.kill()));
  };

  const course = async () => {
    const creator = new OwningHost(time, streams, {host: 'creator'});
    for (const id of TENANTS) {
      const record = encodeTenant({
        generation: 1,
        epoch: 0,
        owner: null,
        pin: null,
        createdMs: 1,
        dueMs: null,
        isDeleted: false,
      });
      await creator.replicated.records.set(tenantKey(id), record, 0);
    }
    await creator.kill();
    await Promise.all([operator(), ...['a', 'b', 'c'].map(run), ...Array.from({length: CLIENTS}, (_, n) => client(n))]);
    await afterwards();
  };
  await time.run(course());
  return history;
}
