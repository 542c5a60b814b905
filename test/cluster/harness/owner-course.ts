/** What random courses of owners share: the faults of their connections, their writes, and which answers clients got. */
import {delay} from '../../../cluster/log/timing.ts';
import {randomFault} from './random-history.ts';
import type {Known, ReplicatedHost} from './replicated-host.ts';
import type {Host, Rig} from './rig.ts';

/** Requests of an outage. */
const OUTAGE_REQUESTS = 80;
const WRITES_MAX = 25;

/** `known`: what clients know of each write, by its number. */
export type Course = {rig: Rig; random: () => number; known: Map<number, Known | 'open'>};

/**
 * Requests of any host fail from now on.
 *
 * @param share of requests that fail
 * @param outages share of requests that begin an outage, in which nothing reaches the log
 * @returns ends all faults
 */
export function makeFaulty(
  hosts: readonly Host[],
  {random}: Course,
  {share, outages = 0}: {share: number; outages?: number},
): () => void {
  let outageLeft = 0;
  for (const host of hosts) {
    host.choose(request => {
      if (outageLeft > 0) {
        outageLeft--;
        return 'lost';
      }
      if (random() < outages) outageLeft = OUTAGE_REQUESTS;
      return random() < share ? randomFault(request, random) : 'none';
    });
  }
  return () => {
    for (const host of hosts) host.choose(() => 'none');
  };
}

/** Writes as long as the host is the owner, up to `WRITES_MAX` times. An owner that loses the log is killed. */
export async function writeSome(host: ReplicatedHost, {rig, random, known}: Course): Promise<void> {
  const {owner} = host;
  if (owner === null) return;
  owner.onLost = () => host.owner === owner && host.kill(random() < 0.5);
  for (let left = Math.floor(random() * WRITES_MAX); left > 0 && host.owner === owner; left--) {
    const n = known.size;
    known.set(n, 'open');
    owner.write(n, random() < 0.1 ? 300_000 : 10, outcome => known.set(n, outcome));
    if (random() < 0.5) await delay(rig.timing, random() * 40);
  }
}

/**
 * Writes that are not as the answers to clients said, as sentences.
 *
 * @param documents numbers of those in the file of the last owner
 * @param aside numbers of those in files that were set aside
 */
export function untrueAnswers({known}: Course, documents: readonly number[], aside: readonly number[] = []): string[] {
  const stored = new Set(documents);
  const kept = new Set([...documents, ...aside]);
  const twice = stored.size === documents.length ? [] : ['a write is stored twice'];
  const untrue = [...known].flatMap(([n, outcome]) => {
    if (outcome === 'acknowledged' && !kept.has(n)) return [`${n} was lost`];
    return outcome === 'refused' && stored.has(n) ? [`${n} was refused`] : [];
  });
  return [...twice, ...untrue];
}
