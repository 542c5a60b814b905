/**
 * The lease of a repository: one server writes to it at a time.
 *
 * A writer claims the next epoch by an object of that epoch's name, which is never replaced. It is the holder for as long
 * as its own claim is there and the next epoch has none. It checks that before it writes a manifest, and after it has
 * stored a pack, before that pack counts as stored. So no clock and no conditional write is needed:
 *
 *   old writer:  put pack ── check: no newer claim ── pack counts        the pack is in the list that the new writer reads
 *   new writer:                                          put claim ── list packs
 *
 * If the check came after the claim, the pack does not count, and the old writer stops. Two claims of one epoch, in a
 * store that ignores `ifAbsent`, leave one of them, and the other writer finds a claim that is not its own.
 *
 * `lease.json` says when the holder was last seen, so that a server does not take the lease of one that lives. Its age
 * is by the clock of the store. It is renewed by time; a lease that its holder released can be taken at once, and so can
 * that of the same server at the same place, of which only one runs.
 */
import {randomBytes} from 'node:crypto';
import {LEASE_CLAIMS_KEPT, LEASE_MS, LEASE_RENEW_MS, LIST_PAGE_MAX} from '../limits.ts';
import type {ObjectStore} from '../store/object-store.ts';
import {StoreError} from '../store/store-error.ts';
import {epochOf, LEASE_OBJECT, LEASES, leaseName} from './object-names.ts';
import {type LeaseHolder, RepositoryError} from './repository-error.ts';

export type LeaseRequest = {
  readonly host: string;
  readonly serverId: string;
  /** Differs from that of a copy of the server, which has its id. Absent: the id is used once. */
  readonly place?: string;
  /** Of a host: its name. Absent: it is none. */
  readonly cluster?: string | undefined;
  /** Takes the lease of a server that lives, which stops copying then. */
  readonly force?: boolean;
};

/** The content of a claim, and of `lease.json`. */
type StoredLease = {
  host: string;
  server_id: string;
  place: string | undefined;
  cluster?: string | undefined;
  /** Random, for each claim. */
  instance: string;
  epoch: number;
  since_ms: number;
  is_released: boolean;
};

export class Lease {
  readonly epoch: number;
  readonly #store: ObjectStore;
  readonly #mine: StoredLease;
  readonly #timer: NodeJS.Timeout;
  #lost: RepositoryError | null = null;

  private constructor(store: ObjectStore, mine: StoredLease) {
    this.epoch = mine.epoch;
    this.#store = store;
    this.#mine = mine;
    this.#timer = setInterval(() => void this.#renew(), LEASE_RENEW_MS).unref();
  }

  /** @throws RepositoryError `locked`; StoreError */
  static async acquire(store: ObjectStore, {host, serverId, place, cluster, force}: LeaseRequest): Promise<Lease> {
    const claims = (await store.list(LEASES, {most: LIST_PAGE_MAX})).filter(({name}) => epochOf(name) !== null);
    let newest = claims.length === 0 ? 0 : epochOf(claims[0]!.name)!;
    // A list can lack what was stored last.
    while ((await store.get(leaseName(newest + 1))) !== null) newest++;
    if (newest > 0 && force !== true) await refuseLiving(store, newest, {host, serverId, place});
    const instance = randomBytes(8).toString('hex');
    const mine = {host, server_id: serverId, place, cluster, instance, epoch: newest + 1};
    const lease = new Lease(store, {...mine, since_ms: Date.now(), is_released: false});
    try {
      await lease.#claim();
      await lease.check();
      await lease.#show(false);
      await store.remove(claims.slice(LEASE_CLAIMS_KEPT).map(({name}) => name));
      return lease;
    } catch (caught) {
      clearInterval(lease.#timer);
      throw caught;
    }
  }

  /** Whether this is still the writer. @throws RepositoryError `locked`; StoreError */
  async check(): Promise<void> {
    if (this.#lost !== null) throw this.#lost;
    const names = [leaseName(this.epoch), leaseName(this.epoch + 1)] as const;
    const [own, next] = await Promise.all([this.#store.get(names[0]), this.#store.get(names[1])]);
    const holder = parsed(next ?? own);
    if (next === null && holder?.instance === this.#mine.instance) return;
    if (next === null && holder === null && !(await this.#isOvertaken())) {
      throw new StoreError('unavailable', `${this.#store.url} does not have ${names[0]} as it was stored`);
    }
    this.#lost = locked(this.#store, holder);
    clearInterval(this.#timer);
    throw this.#lost;
  }

  /** Another server can take it at once. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#lost !== null) return;
    await this.check();
    await this.#show(true);
  }

  /** Nothing is written: the lease ends by its time. */
  abandon(): void {
    clearInterval(this.#timer);
  }

  async #claim(): Promise<void> {
    try {
      await this.#store.put(leaseName(this.epoch), contentOf(this.#mine), {ifAbsent: true});
    } catch (caught) {
      if (!(caught instanceof StoreError && caught.code === 'exists')) throw caught;
      const there = parsed(await this.#store.get(leaseName(this.epoch)));
      // The answer to a first attempt was lost, and the second one found it.
      if (there?.instance !== this.#mine.instance) throw locked(this.#store, there);
    }
  }

  /** The claims after this one can have been removed with it. */
  async #isOvertaken(): Promise<boolean> {
    const [newest] = await this.#store.list(LEASES, {most: 1});
    return newest !== undefined && (epochOf(newest.name) ?? 0) > this.epoch;
  }

  async #renew(): Promise<void> {
    try {
      await this.check();
      await this.#show(false);
    } catch (caught) {
      // Of a lost lease the next check says so. A store that is gone is tried again.
      if (!(caught instanceof RepositoryError || caught instanceof StoreError)) throw caught;
    }
  }

  #show(isReleased: boolean): Promise<void> {
    return this.#store.put(LEASE_OBJECT, contentOf({...this.#mine, is_released: isReleased}));
  }
}

/** @throws RepositoryError `locked`: another server was seen not long ago */
async function refuseLiving(
  store: ObjectStore,
  epoch: number,
  {host, serverId, place}: {host: string; serverId: string; place: string | undefined},
): Promise<void> {
  const [claim, shown] = await Promise.all([store.get(leaseName(epoch)), store.get(LEASE_OBJECT)]);
  const status = parsed(shown);
  // A writer that ended between its claim and the first `lease.json` is not seen in the latter.
  const holder = status?.epoch === epoch ? status : parsed(claim);
  if (holder === null || holder.is_released) return;
  if (holder.server_id === serverId && holder.host === host && holder.place === place) return;
  const age = await ageOf(store, holder === status ? LEASE_OBJECT : leaseName(epoch));
  if (age < LEASE_MS) throw locked(store, holder);
}

/** By the clock of the store, because those of two servers can differ. */
async function ageOf(store: ObjectStore, name: string): Promise<number> {
  const probe = `${LEASES}probe-${randomBytes(8).toString('hex')}`;
  await store.put(probe, Buffer.from('{}\n'));
  try {
    const [now, then] = await Promise.all([modifiedMsOf(store, probe), modifiedMsOf(store, name)]);
    return now === null || then === null ? Number.POSITIVE_INFINITY : now - then;
  } finally {
    await store.remove([probe]);
  }
}

async function modifiedMsOf(store: ObjectStore, name: string): Promise<number | null> {
  // All names of the folder that come before it are few: claims, and other probes.
  const folder = name.includes('/') ? LEASES : '';
  const listed = await store.list(folder, {after: name.slice(0, -1), most: 2});
  return listed.find(one => one.name === name)?.modifiedMs ?? null;
}

function contentOf(lease: StoredLease): Buffer {
  return Buffer.from(`${JSON.stringify(lease)}\n`);
}

function parsed(bytes: Buffer | null): StoredLease | null {
  if (bytes === null) return null;
  try {
    return JSON.parse(bytes.toString()) as StoredLease;
  } catch {
    return null; // It is damaged, and says nothing about a holder.
  }
}

function locked(store: ObjectStore, holder: StoredLease | null): RepositoryError {
  const of: LeaseHolder | null =
    holder === null
      ? null
      : {
          ...{host: holder.host, serverId: holder.server_id, sinceMs: holder.since_ms},
          cluster: holder.cluster ?? null,
        };
  const since = of === null ? '' : ` since ${new Date(of.sinceMs).toISOString()}`;
  const who = of === null ? 'another server' : `the server ${of.serverId} on ${of.host}`;
  return new RepositoryError('locked', `${who} writes to ${store.url}${since}`, {holder: of});
}
