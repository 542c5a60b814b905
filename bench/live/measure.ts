/**
 * The live figures of the bench: fan-out beside raw uWebSockets.js publish, writes under many live queries, what sockets
 * weigh, a reconnect storm, and scheduled jobs. The two fan-out targets alternate within each number of sockets.
 */
import {join} from 'node:path';
import {NODE_FLAGS, startServer} from '../peers/server-process.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';
import {type FanOut, measureFanOut} from './fan-out.ts';
import {type JobCosts, measureJobs} from './jobs.ts';
import {measureWritesUnderQueries, type WriteCost} from './matching.ts';
import {measureSockets, type SocketCosts} from './sockets.ts';
import {svcTarget, uwsTarget} from './target.ts';

export type LiveRound = {
  fanOut: {svc: FanOut; uws: FanOut}[];
  /** Of a write with this many live queries on its table. */
  writes: {with10: WriteCost; with100000: WriteCost};
  sockets: SocketCosts;
  jobs: JobCosts;
};

const SOCKETS = [1, 100, 1_000];
const MANY_QUERIES = 100_000;
const CROWD = 5_000;
const JOBS = 5_000;

/** @param round makes tenant names of its own */
export async function measureLive(
  svc: SvcPeer,
  root: string,
  round: number,
  seconds: number,
  say: (text: string) => void,
): Promise<LiveRound> {
  const fanOut: LiveRound['fanOut'] = [];
  for (const count of SOCKETS) {
    const server = await startServer(
      process.execPath,
      [...NODE_FLAGS, join(import.meta.dirname, 'uws-publish.ts')],
      /listening on (\d+)/,
    );
    const raw = uwsTarget(Number(server.ready[1]));
    const uws = await measureFanOut(raw, count, seconds);
    await raw.close();
    await server.stop();
    const ours = await svcTarget(svc, `fan-${round}-${count}`);
    const measured = await measureFanOut(ours, count, seconds);
    fanOut.push({svc: measured, uws});
    say(`fan-out to ${count}: ${Math.round(measured.deliveriesPerS)}/s, raw ${Math.round(uws.deliveriesPerS)}/s`);
  }
  const watched = new Map([
    [`few-${round}`, 10],
    [`many-${round}`, MANY_QUERIES],
  ]);
  const [with10, with100000] = (await measureWritesUnderQueries(svc, watched, seconds)) as [WriteCost, WriteCost];
  say(`a write under 10 live queries ${with10.ms.toFixed(2)} ms, under 100,000 ${with100000.ms.toFixed(2)} ms`);
  // A server of its own, whose router holds no garbage of what was measured before.
  const fresh = await startSvc(join(root, `crowd-${round}`));
  const sockets = await measureSockets(fresh, 'crowd', CROWD);
  await stopSvc(fresh);
  say(`${CROWD} sockets back in ${Math.round(sockets.stormMs)} ms`);
  const jobs = await measureJobs(svc, `jobs-${round}`, JOBS);
  say(`jobs: ${Math.round(jobs.perS)}/s`);
  return {fanOut, writes: {with10, with100000}, sockets, jobs};
}
