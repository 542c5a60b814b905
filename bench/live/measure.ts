/**
 * The live figures of the bench: fan-out beside raw uWebSockets.js publish, writes under many live queries, what sockets
 * weigh, a reconnect storm, and scheduled jobs; and the same of function sockets. The fan-out targets alternate within each number of sockets.
 */
import {join} from 'node:path';
import {NODE_FLAGS, startServer} from '../peers/server-process.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';
import {type FanOut, measureFanOut} from './fan-out.ts';
import {FunctionTenant} from './function-target.ts';
import {type FunctionLive, measureFunctionLive} from './functions.ts';
import {type JobCosts, measureJobs} from './jobs.ts';
import {measureWritesUnderQueries, type WriteCost} from './matching.ts';
import {measureSockets, plainCrowd, type SocketCosts} from './sockets.ts';
import {countTarget, svcTarget, uwsTarget} from './target.ts';

export type LiveRound = {
  /** `count`: of a live query that counts. */
  fanOut: {svc: FanOut; count: FanOut; functions: FanOut; uws: FanOut}[];
  /** Of a write with this many live queries on its table. */
  writes: {with10: WriteCost; with100000: WriteCost};
  sockets: SocketCosts;
  jobs: JobCosts;
  functions: FunctionLive;
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
  const counted = await countTarget(svc, `fan-count-${round}`);
  for (const count of SOCKETS) {
    const server = await startServer(
      process.execPath,
      [...NODE_FLAGS, join(import.meta.dirname, 'uws-publish.ts')],
      /listening on (\d+)/,
    );
    const raw = uwsTarget(Number(server.ready[1]), server.pid);
    const uws = await measureFanOut(raw, count, seconds);
    await raw.close();
    await server.stop();
    const ours = await svcTarget(svc, `fan-${round}-${count}`);
    const measured = await measureFanOut(ours, count, seconds);
    const counts = await measureFanOut(counted, count, seconds);
    const tenant = await FunctionTenant.create(svc, `fan-functions-${round}-${count}`, root, 10);
    const functions = await measureFanOut(tenant.target(), count, seconds);
    await tenant.close();
    fanOut.push({svc: measured, count: counts, functions, uws});
    const rates = [measured, counts, functions, uws].map(each => Math.round(each.deliveriesPerS));
    say(
      `fan-out to ${count}: ${rates[0]}/s, of a count ${rates[1]}/s, of a function query ${rates[2]}/s, raw ${rates[3]}/s`,
    );
  }
  const watched = new Map([
    [`few-${round}`, 10],
    [`many-${round}`, MANY_QUERIES],
  ]);
  const [with10, with100000] = (await measureWritesUnderQueries(svc, watched, seconds)) as [WriteCost, WriteCost];
  say(`a write under 10 live queries ${with10.ms.toFixed(2)} ms, under 100,000 ${with100000.ms.toFixed(2)} ms`);
  // A server of its own, whose router holds no garbage of what was measured before.
  const fresh = await startSvc(join(root, `crowd-${round}`));
  const sockets = await measureSockets(fresh, await plainCrowd(fresh, 'crowd'), CROWD);
  await stopSvc(fresh);
  say(`${CROWD} sockets back in ${Math.round(sockets.stormMs)} ms`);
  const jobs = await measureJobs(svc, `jobs-${round}`, JOBS);
  say(`jobs: ${Math.round(jobs.perS)}/s`);
  const functions = await measureFunctionLive(join(root, `live-functions-${round}`), seconds, say);
  return {fanOut, writes: {with10, with100000}, sockets, jobs, functions};
}
