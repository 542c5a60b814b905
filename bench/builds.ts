/**
 * `npm run bench:builds -- ../other/dist/cli.js`: this build and another one, each with a server of its own that has the same
 * tenants, in turns. Each request is measured in many short rounds, and whether this build is first alternates, so that what
 * the machine does meanwhile concerns both. Prints the median of the rounds' ratios, and their quartiles: of two equal builds
 * they include 1.
 */
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {Command, InvalidArgumentError} from 'commander';
import {tenantPath} from '../cli/client.ts';
import {benchDocument} from './documents.ts';
import {transfers} from './functions/accounts.ts';
import {deployApp, runFunction} from './functions/app.ts';
import {measureFanOut} from './live/fan-out.ts';
import {measureJobs} from './live/jobs.ts';
import {svcTarget} from './live/target.ts';
import {requestText} from './load/job.ts';
import {runLoad} from './load/run.ts';
import {median, quantile} from './measure/statistics.ts';
import {seedTenant} from './peers/svc/seed.ts';
import {BUILT, type SvcPeer, startSvc, stopSvc} from './peers/svc/start.ts';
import {spareIsReady} from './peers/svc/wake.ts';

/** What one build does of a row in one round: how fast (the more the better), and microseconds of processor time of each. */
type Sample = {rate: number; cpuUs: number};
type Row = {name: string; unit: string; sample: (side: Side, round: number) => Promise<Sample>};
type Side = {
  peer: SvcPeer;
  data: string;
  cli: string;
  flags: string[];
  requests: Record<string, string[]>;
  ids: string[];
};

const DOCUMENTS = 'documents';
const FUNCTIONS = 'functions';
const CONNECTIONS = 64;
const FUNCTION_IDS = 1_000;
const BENCH_ACCOUNTS = 5_000;
const JOBS = 5_000;

const {
  rounds,
  seconds,
  only,
  directory,
  flags,
  otherFlags,
  args: [other],
} = options();
const root = mkdtempSync(join(directory, 'svc-builds-'));
process.once('exit', () => rmSync(root, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const rows: Row[] = [
  ...['get', 'worker-get', 'query', 'list', 'insert'].map(name => ofRequests(name)),
  ofRequests('insert', 'lone-insert', 1),
  ...['function query', 'kept query', 'mutation', 'transfer'].map(name => ofRequests(name)),
  ...[1, 100, 1_000].map(sockets => ofFanOut(sockets)),
  {name: 'jobs', unit: '/s', sample: jobs},
  {name: 'cold wake', unit: ' a second, one after the other', sample: side => wake(side, DOCUMENTS, 0)},
  {name: 'first function query', unit: ' a second, one after the other', sample: side => wake(side, FUNCTIONS, 1)},
];

const sides = [await start('this', BUILT, flags), await start('other', resolve(other!), otherFlags)];
for (const {name, unit, sample} of rows) {
  if (only?.test(name) === false) continue;
  const samples: Sample[][] = [[], []];
  for (let round = -1; round < rounds; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    // The first is a warm-up.
    for (const at of order) {
      const taken = await sample(sides[at]!, round);
      if (round >= 0) samples[at]!.push(taken);
    }
  }
  const shown = (figure: (one: Sample) => number, digits: number): string => {
    const [mine, others] = samples.map(each => each.map(figure)) as [number[], number[]];
    const ratios = mine.map((value, i) => value / others[i]!);
    const quartiles = `${quantile(ratios, 0.25).toFixed(3)} to ${quantile(ratios, 0.75).toFixed(3)}`;
    return `${median(mine).toFixed(digits)} for ${median(others).toFixed(digits)}: ${median(ratios).toFixed(3)} (${quartiles})`;
  };
  const rate = shown(one => one.rate, unit === '/s' ? 0 : 2);
  process.stdout.write(`${name}: ${rate}${unit}; µs ${shown(one => one.cpuUs, 1)}\n`);
}
for (const {peer} of sides) await stopSvc(peer);

function ofRequests(of: string, name = of, connections = CONNECTIONS): Row {
  const sample = async ({peer, requests}: Side): Promise<Sample> => {
    const job = {port: peer.port, connections, seconds, requests: requests[of]!};
    const {requestsPerS: rate, errors, cpuUs} = await runLoad('wrk', job, peer.process.pid);
    if (errors > 0) throw new Error(`${name}: ${errors} errors`);
    return {rate, cpuUs: cpuUs === null ? Number.NaN : cpuUs.router + cpuUs.worker + cpuUs.other};
  };
  return {name, unit: '/s', sample};
}

/** Frames that sockets of one live query receive. */
function ofFanOut(sockets: number): Row {
  const sample = async ({peer}: Side, round: number): Promise<Sample> => {
    const target = await svcTarget(peer, `live-${sockets}-${round + 1}`);
    const {deliveriesPerS: rate, cpuUs} = await measureFanOut(target, sockets, seconds);
    await target.close();
    return {rate, cpuUs: cpuUs === null ? Number.NaN : (cpuUs.router + cpuUs.worker + cpuUs.other) / sockets};
  };
  return {name: `change to ${sockets}`, unit: '/s', sample};
}

async function jobs({peer}: Side, round: number): Promise<Sample> {
  const {perS} = await measureJobs(peer, `jobs-${round + 1}`, JOBS);
  return {rate: perS, cpuUs: Number.NaN};
}

/** Starts the server again and asks a sleeping tenant once. */
async function wake(side: Side, tenant: string, spares: number): Promise<Sample> {
  await stopSvc(side.peer);
  side.peer = await startSvc(side.data, [...side.flags, '--spare-workers', String(spares)], side.cli);
  if (spares > 0) await spareIsReady(side.peer);
  await side.peer.client.request('GET', '/health'); // the connection is open
  const startedMs = performance.now();
  if (tenant === FUNCTIONS) await runFunction(side.peer, FUNCTIONS, 'bench:get', {id: side.ids[0]});
  else await side.peer.client.request('GET', tenantPath(DOCUMENTS, 'documents', 'small'));
  return {rate: 1_000 / (performance.now() - startedMs), cpuUs: Number.NaN};
}

async function start(name: string, cli: string, flags: string[]): Promise<Side> {
  mkdirSync(join(root, name));
  const data = join(root, name, 'data');
  const peer = await startSvc(data, flags, cli);
  const native = await seedTenant(peer, DOCUMENTS);
  await peer.client.createTenant(FUNCTIONS);
  await deployApp(peer, FUNCTIONS, join(root, name));
  const ids: string[] = [];
  for (let i = 0; i < FUNCTION_IDS; i++) {
    ids.push((await runFunction(peer, FUNCTIONS, 'bench:insert', benchDocument(i))) as string);
  }
  const opened = {from: 0, to: BENCH_ACCOUNTS, balance: 1_000};
  const accounts = (await runFunction(peer, FUNCTIONS, 'bench:open', opened)) as string[];
  const account = (number: number): string => accounts[number % BENCH_ACCOUNTS]!;
  const requests = {
    ...native,
    'function query': ids.map(id => call('query', 'bench:fresh', {id})),
    'kept query': ids.map(id => call('query', 'bench:get', {id})),
    mutation: ids.map((_, i) => call('mutation', 'bench:insert', benchDocument(i))),
    transfer: transfers(0).map(([from, to]) =>
      call('mutation', 'bench:transfer', {from: account(from), to: account(to), amount: 1}),
    ),
  };
  return {peer, data, cli, flags, requests, ids};
}

function call(kind: 'query' | 'mutation', path: string, args: object): string {
  return requestText('POST', `/svc/${FUNCTIONS}/${kind}`, {}, JSON.stringify({path, args}));
}

function options() {
  const words = (text: string): string[] => text.split(' ').filter(word => word !== '');
  const pattern = (text: string): RegExp => {
    try {
      return new RegExp(text);
    } catch {
      throw new InvalidArgumentError('It must be a regular expression.');
    }
  };
  const command = new Command('builds')
    .argument('<cli.js>', 'the other build')
    .option('--rounds <count>', 'measured rounds of each row, after one that is not', Number, 12)
    .option('--seconds <seconds>', 'length of each measurement', Number, 1)
    .option('--only <pattern>', 'rows whose name matches, such as "get|insert"', pattern)
    .option('--flags <flags>', 'of the server of this build, with spaces between', words, [])
    .option('--other-flags <flags>', 'of the server of the other build', words, [])
    .option('--directory <directory>', 'where the data directories are made', tmpdir())
    .parse();
  type Options = {
    rounds: number;
    seconds: number;
    only?: RegExp;
    flags: string[];
    otherFlags: string[];
    directory: string;
  };
  return {...command.opts<Options>(), args: command.args};
}
