/** Faults of requests, pauses and late watches, chosen by random numbers. */
import type {Fault, Request} from './faulty-engine.ts';

export type RandomFaults = {
  readonly choosesFault: (request: Request) => Fault;
  readonly choosesPause: () => number;
  readonly lagMs: () => number;
};

const PAUSE_MS_MAX = 15_000;
const LATE_MS_MAX = 5_000;
const LAG_MS_MAX = 3_000;

/** @param share of requests that fail. @param pauses share of awaits at which a host pauses */
export function randomFaults(random: () => number, {share, pauses}: {share: number; pauses: number}): RandomFaults {
  return {
    choosesFault: request => (random() < share ? randomFault(request, random) : 'none'),
    choosesPause: () => (random() < pauses ? random() * PAUSE_MS_MAX : 0),
    lagMs: () => (random() < share ? random() * LAG_MS_MAX : 0),
  };
}

export function randomFault(request: Request, random: () => number): Fault {
  const faults: Fault[] =
    request === 'read' ? ['stale', 'lost'] : ['lost', 'ack_lost', 'duplicate', {late: 1 + random() * LATE_MS_MAX}];
  return faults[Math.floor(random() * faults.length)]!;
}
