/**
 * What live functions cost: a mutation under one live query and under a thousand with arguments of their own of which it concerns one, which of
 * the runs that it causes are for nothing, an update in the client, and crowds of sockets. On a server of its own for each.
 */
import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {type CpuTimes, cpuLook, cpuUsEach} from '../measure/process-tree.ts';
import {median} from '../measure/statistics.ts';
import {NODE_FLAGS} from '../peers/server-process.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';
import type {ClientCost, ClientKind} from './client.ts';
import {FunctionTenant, type LiveRuns, type Watched} from './function-target.ts';
import type {LoadSocket} from './socket.ts';
import {type Crowd, measureSockets, type SocketCosts} from './sockets.ts';

/** A mutation until whom it concerns has its result; of which runs, and what of the processors. */
export type MutationCost = {ms: number; runs: LiveRuns; cpuUs: CpuTimes | null};

export type FunctionLive = {
  oneClient: MutationCost;
  distinct: MutationCost;
  /** Beside the one that shows it, ten queries read what changes and do not show it. */
  blind: MutationCost;
  client: Record<ClientKind, ClientCost>;
  /** Of one query, and each with arguments of its own. */
  crowd: SocketCosts;
  distinctCrowd: SocketCosts;
};

const CLIENTS = 1_000;
const BLIND = 10;
const CROWD = 5_000;
const TURNS = 4;

export async function measureFunctionLive(
  root: string,
  seconds: number,
  say: (text: string) => void,
): Promise<FunctionLive> {
  mkdirSync(root, {recursive: true});
  const {oneClient, distinct, blind, client} = await measureMutations(root, seconds);
  say(
    `a mutation under a live function ${oneClient.ms.toFixed(2)} ms, under 1,000 distinct ${distinct.ms.toFixed(2)} ms`,
  );
  say(`an update in a client: ${Math.round(client['svc/browser'].cpuUs)} µs, bare ${Math.round(client.bare.cpuUs)} µs`);
  const crowd = await measureCrowd(join(root, 'crowd'), () => [{path: 'live:firstTen', args: {}}]);
  say(`${CROWD} function sockets back in ${Math.round(crowd.stormMs)} ms`);
  const distinctCrowd = await measureCrowd(join(root, 'distinct'), n => [{path: 'live:one', args: {rank: n}}]);
  say(`${CROWD} with arguments of their own in ${Math.round(distinctCrowd.stormMs)} ms`);
  return {oneClient, distinct, blind, client, crowd, distinctCrowd};
}

async function measureMutations(root: string, seconds: number) {
  const svc = await startSvc(join(root, 'mutations'));
  const create = (tenant: string) => FunctionTenant.create(svc, tenant, root, CLIENTS);
  const ofOne = (rank: number): Watched[] => [{path: 'live:one', args: {rank}}];
  const few = await watch(await create('one'), [ofOne(0)]);
  const many = await watch(
    await create('many'),
    Array.from({length: CLIENTS}, (_, rank) => ofOne(rank)),
  );
  const ranks = Array.from({length: BLIND}, (_, i) => [{path: 'live:ranks', args: {from: -i}}]);
  const blind = await watch(await create('blind'), [ofOne(0), ...ranks]);
  // In turns: the disk and the machine are not the same from one moment to the next.
  for (let turn = 0; turn < TURNS; turn++) {
    for (const each of [few, many, blind]) await mutate(svc, each, (seconds * 1000) / TURNS);
  }
  const client = {
    'svc/browser': await measureClient(await create('client'), 'svc/browser', seconds),
    bare: await measureClient(await create('bare'), 'bare', seconds),
  };
  for (const {tenant, sockets} of [few, many, blind]) {
    for (const socket of sockets) socket.close();
    await tenant.close();
  }
  const result = {oneClient: costOf(few), distinct: costOf(many), blind: costOf(blind), client};
  await stopSvc(svc);
  return result;
}

/** The first of the sockets is the one that a mutation concerns. */
type Measured = {tenant: FunctionTenant; sockets: LoadSocket[]; delays: number[]; runs: LiveRuns; cpu: CpuTimes[]};

async function watch(tenant: FunctionTenant, watched: Watched[][]): Promise<Measured> {
  const sockets: LoadSocket[] = [];
  for (const each of watched) sockets.push(await tenant.subscriber(each));
  return {tenant, sockets, delays: [], runs: {changed: 0, equal: 0}, cpu: []};
}

async function mutate(svc: SvcPeer, {tenant, sockets, delays, runs, cpu}: Measured, ms: number): Promise<void> {
  const shown = async (n: number): Promise<void> => {
    const arrived = new Promise<void>(resolve => {
      sockets[0]!.onText(frame => {
        if (frame.includes('"changes":[{')) resolve();
      });
    });
    await Promise.all([tenant.change(0, n), arrived]);
  };
  await shown(Date.now()); // what the others left in the caches is not measured
  const runsBefore = await tenant.liveRuns();
  const before = cpuLook(svc.process.pid);
  const endMs = performance.now() + ms;
  let n = 0;
  for (; performance.now() < endMs; n++) {
    const startedMs = performance.now();
    await shown(n);
    delays.push(performance.now() - startedMs);
  }
  const spent = cpuUsEach(before, cpuLook(svc.process.pid), n);
  if (spent !== null) cpu.push(spent);
  const after = await tenant.liveRuns();
  runs.changed += after.changed - runsBefore.changed;
  runs.equal += after.equal - runsBefore.equal;
}

function costOf({delays, runs, cpu}: Measured): MutationCost {
  const part = (name: keyof CpuTimes) => median(cpu.map(each => each[name]));
  return {
    ms: median(delays),
    runs: {changed: runs.changed / delays.length, equal: runs.equal / delays.length},
    cpuUs: cpu.length === 0 ? null : {router: part('router'), worker: part('worker'), other: part('other')},
  };
}

/** One change after the other, as many as go; what the client's process took of the processors for each. */
async function measureClient(tenant: FunctionTenant, kind: ClientKind, seconds: number): Promise<ClientCost> {
  const child = fork(join(import.meta.dirname, 'client.ts'), [tenant.url, kind], {execArgv: NODE_FLAGS});
  await answer(child);
  const change = async (ms: number): Promise<void> => {
    const endMs = performance.now() + ms;
    for (let n = 0; performance.now() < endMs; n++) await tenant.change(n % 10, Date.now() + n);
  };
  await change(seconds * 1000); // compiled, as in a page that has been open for a while
  child.send('begin');
  await answer(child);
  await change(seconds * 1000);
  child.send('end');
  const cost = (await answer(child)) as ClientCost;
  await tenant.close();
  return cost;
}

async function answer(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the client ended with ${code}`);
  });
  ended.catch(() => undefined); // of one that has answered
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}

async function measureCrowd(root: string, watched: (n: number) => Watched[]): Promise<SocketCosts> {
  const svc = await startSvc(root);
  const tenant = await FunctionTenant.create(svc, 'crowd', root, CROWD);
  const crowd: Crowd = {
    open: () => tenant.open(),
    subscribe: (socket, n) => tenant.subscribe(socket, watched(n)),
  };
  const costs = await measureSockets(svc, crowd, CROWD);
  await tenant.close();
  await stopSvc(svc);
  return costs;
}
