/**
 * Runs queries in one snapshot, for sessions whose queries otherwise have no common version. Sessions that watch the
 * same queries miss at the same time, so equal requests share a run under way if its snapshot is new enough for them.
 *
 * One thread reads a snapshot, one query after another. Answers that are still open are therefore not run again, so
 * that a slow query without writes does not delay the others. If such an answer is closed before the snapshot of the
 * others was opened, all queries are run.
 */
import type {Answer} from './answer.ts';
import {ALL, type Slot, type SubscribedQuery} from './subscribed-query.ts';
import {commonVersion} from './versions.ts';

export type WantedQuery = {query: SubscribedQuery; slot: Slot};
/** Answers that are all valid at one version. */
export type SnapshotBatch = ReadonlyMap<SubscribedQuery, Answer>;

export type SnapshotBatchParts = {
  /** The newest version. */
  sequence: () => number;
  /** @returns null: the batch failed */
  run: (wanted: readonly WantedQuery[]) => Promise<SnapshotBatch | null>;
};

/** `from`: its snapshot is of this version or a later one. */
type UnderWay = {from: number; wanted: readonly WantedQuery[]; batch: Promise<SnapshotBatch | null>};

export class SnapshotBatches {
  readonly #parts: SnapshotBatchParts;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(parts: SnapshotBatchParts) {
    this.#parts = parts;
  }

  /** @param notBefore older versions are of no use */
  async together(requested: readonly WantedQuery[], notBefore: number): Promise<SnapshotBatch | null> {
    const wanted = [...new Map(requested.map(one => [one.query, one])).values()].sort((a, b) => a.query.n - b.query.n);
    const key = keyOf(wanted);
    let underWay = this.#underWay.get(key);
    if (underWay === undefined || underWay.from < notBefore) {
      underWay = {from: this.#parts.sequence(), wanted, batch: this.#run(wanted)};
      this.#underWay.set(key, underWay);
    }
    const batch = await underWay.batch;
    if (this.#underWay.get(key) === underWay) this.#underWay.delete(key);
    return batch !== null && isFor(batch, wanted, underWay.wanted) ? batch : null;
  }

  async #run(wanted: readonly WantedQuery[]): Promise<SnapshotBatch | null> {
    const standing = new Map<SubscribedQuery, Answer>();
    for (const {query, slot} of wanted) {
      const answer = query.answerFor(slot.identity);
      if (answer?.isOpen === true) standing.set(query, answer);
    }
    if (standing.size === 0) return await this.#parts.run(wanted);
    const fallen = wanted.filter(({query}) => !standing.has(query));
    if (fallen.length === 0) return standing;
    const batch = await this.#parts.run(fallen);
    if (batch === null) return null;
    const all = new Map([...standing, ...batch]);
    const isOneVersion = commonVersion(all.values(), 0, this.#parts.sequence()) !== null;
    return isOneVersion ? all : await this.#parts.run(wanted);
  }
}

/** Equal for equal requests. All queries of a request have the same identity, which can be long. */
function keyOf(wanted: readonly WantedQuery[]): string {
  const own = wanted.find(({slot}) => slot.key !== ALL.key);
  return `${wanted.map(({query, slot}) => (slot.key === ALL.key ? query.n : -query.n)).join()} ${own?.slot.key ?? ''}`;
}

/** Whether a shared batch also holds for this request: not if a run used another caller's identity. */
function isFor(batch: SnapshotBatch, wanted: readonly WantedQuery[], ran: readonly WantedQuery[]): boolean {
  return wanted.every(({query, slot}, i) => {
    const {identityUsed} = batch.get(query)!;
    return !identityUsed || slot.identity === ran[i]!.slot.identity;
  });
}
