/**
 * What a writer says it has stored can be read with the store and the key alone, whatever the store does to requests in between; and what
 * the store loses later is named, or not read at all.
 */
import {randomInt} from 'node:crypto';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {plan} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryError} from '../../../copies/repository/repository-error.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {StoreError} from '../../../copies/store/store-error.ts';
import {rounds} from '../../harness/nightly.ts';
import {seededRandom} from '../../harness/random.ts';
import {type History, setBytes} from '../model.ts';
import {FaultyObjects} from './faulty-objects.ts';
import {fetched, made, SERVER_A} from './fixture.ts';

const TENANTS = ['a', 'b', 'c'];
const STEPS = rounds({commit: 10, nightly: 30});

/** Commit n is one page more than commit n - 1. */
const GROWING: History = {
  pageBytes: 512,
  states: Array.from({length: STEPS + 1}, (_, n) =>
    Array.from({length: n + 1}, (_, page) => Buffer.alloc(512, page + 1)),
  ),
};

function isOfStore(caught: unknown): boolean {
  return caught instanceof StoreError || caught instanceof RepositoryError;
}

async function round(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const {store, key} = await made();
  const faulty = new FaultyObjects(store, random);
  const opened = () =>
    Repository.open(faulty, key)
      .then(repository => RepositoryWriter.open(repository, SERVER_A))
      .catch(unlessOfStore);
  /** The newest commit of each tenant that the writer said it has. */
  const promised = new Map<string, number>();
  let writer: RepositoryWriter | null = null;
  for (let step = 0; step < STEPS; step++) {
    faulty.share = random() < 0.5 ? 0 : 0.3;
    // Killed, or not begun: a lease that was not released is taken back at once.
    if (writer === null || random() < 0.1) writer = await opened();
    if (writer === null) continue;
    const segments = TENANTS.filter(() => random() < 0.6).map(tenant => next(writer!, tenant, random));
    try {
      await writer.addPack(segments);
      for (const {tenant, last} of segments) promised.set(tenant, last);
      const due = random() < 0.6 ? writer.nextManifest() : null;
      if (due !== null) await writer.writeManifest(due);
    } catch (caught) {
      unlessOfStore(caught);
      // A claim of the lease that was changed on its way can look like that of another server, and that is final.
      if (caught instanceof RepositoryError) writer = null;
    }
    await expectPromised(await Repository.open(store, key), promised);
  }
}

function unlessOfStore(caught: unknown): null {
  if (isOfStore(caught)) return null;
  throw caught;
}

/** What follows the writer's newest state of the tenant, as a copier makes it. */
function next(writer: RepositoryWriter, tenant: string, random: () => number) {
  const newest = writer.newest(tenant)?.commit ?? 0;
  const last = Math.min(STEPS, newest + 1 + Math.floor(random() * 2));
  const first = newest === 0 || last === newest || random() < 0.1 ? 0 : newest + 1;
  const bytes = setBytes(GROWING, {first, last});
  return {tenant, kind: first === 0 ? ('base' as const) : ('set' as const), bytes, last};
}

async function expectPromised(repository: Repository, promised: ReadonlyMap<string, number>): Promise<void> {
  for (const [tenant, commit] of promised) {
    const {base, sets, end} = plan(await repository.copies(tenant), 'newest');
    expect(end.last).toBeGreaterThanOrEqual(commit);
    for (const item of [base, ...sets]) {
      expect(await fetched(repository, tenant, item)).toEqual(setBytes(GROWING, item));
    }
  }
}

const SEEDS = rounds({commit: 4, nightly: 40});
/** They mostly wait for their next attempt. */
const AT_ONCE = 12;

test(`under errors, short, absent and changed objects, and writers that are killed, ${SEEDS} times`, async () => {
  const waiting = Array.from({length: SEEDS}, () => randomInt(2 ** 31)).values();
  const rest = async () => {
    for (const seed of waiting) {
      await round(seed).catch(caught => {
        throw new Error(`with the seed ${seed}`, {cause: caught});
      });
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, rest));
}, 300_000);

test('an object that is lost later is named, or nothing is lost with it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({min: 0}), async seed => {
      const random = seededRandom(seed);
      const {store, key, repository} = await made();
      const writer = await RepositoryWriter.open(repository, SERVER_A);
      for (let step = 0; step < 6; step++) {
        await writer.addPack(TENANTS.map(tenant => next(writer, tenant, random)));
        const due = writer.nextManifest();
        if (due !== null && step % 2 === 1) await writer.writeManifest(due);
      }
      for (const tenant of TENANTS) await writer.writeManifest(tenant);
      const newest = new Map(TENANTS.map(tenant => [tenant, writer.newest(tenant)!.commit]));
      await writer.release();
      const spoiled = await new FaultyObjects(store, random).spoilOne(/^(?:packs|manifests|keys)\//);
      const named = new Set<string>();
      const reader = await Repository.open(store, key);
      for (const [tenant, commit] of newest) await readAll(reader, tenant, commit, named);
      if (named.size > 0) expect([...named]).toEqual([spoiled]);
    }),
    {numRuns: rounds({commit: 10, nightly: 300})},
  );
});

/** Every item of a tenant is what was stored, or its object is noted. Without a note its newest commit is there. */
async function readAll(reader: Repository, tenant: string, commit: number, named: Set<string>): Promise<void> {
  const note = (caught: unknown): null => {
    if (!(caught instanceof RepositoryError)) throw caught;
    named.add(caught.object ?? tenant);
    return null;
  };
  const before = named.size;
  const copies = await reader.copies(tenant).catch(note);
  if (copies === null) return;
  for (const name of copies.unreadable) named.add(name);
  for (const {bases, sets} of copies.timelines) {
    for (const item of [...bases, ...sets]) {
      const bytes = await fetched(reader, tenant, item).catch(note);
      if (bytes !== null) expect(bytes).toEqual(setBytes(GROWING, item));
    }
  }
  if (named.size === before) expect(plan(copies, 'newest').end.last).toBe(commit);
}
