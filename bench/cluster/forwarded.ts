/**
 * What a get costs that another host answers, compared with one that this host answers: requests per second, and
 * processor time of the routers and the worker. Two routers and a worker as real processes; blocks of both kinds take
 * turns. `node --experimental-strip-types bench/cluster/forwarded.ts [blocks] [requests per block] [clients]`
 */
import {readFileSync} from 'node:fs';
import {Agent, request} from 'node:http';
import {Authority} from '../../test/cluster/harness/certificates.ts';
import {
  newTenantDirectory,
  ProcessHost,
  ProcessWorker,
  removeTenantDirectory,
  TENANT,
  TOKEN,
} from '../../test/cluster/harness/process-host.ts';

const [blocks = 6, requests = 20_000, clients = 64] = process.argv.slice(2).map(Number);
const TICKS_PER_SECOND = 100;

type Block = {rate: number; routerUs: number; otherRouterUs: number; workerUs: number};

const agent = new Agent({keepAlive: true, maxSockets: clients});

function get(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({port, path, agent, headers: {authorization: `Bearer ${TOKEN}`}}, response => {
      response.resume();
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Processor time of a process, in microseconds. */
function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND;
}

async function block(host: ProcessHost, other: ProcessHost, worker: ProcessWorker, path: string): Promise<Block> {
  const pids = [host.router.pid!, other.router.pid!, worker.process.pid!];
  const before = pids.map(cpuUs);
  const startMs = performance.now();
  let left = requests;
  await Promise.all(
    Array.from({length: clients}, async () => {
      while (left-- > 0) await get(host.port, path);
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  const [routerUs, otherRouterUs, workerUs] = pids.map((pid, at) => (cpuUs(pid) - before[at]!) / requests);
  return {rate: requests / seconds, routerUs: routerUs!, otherRouterUs: otherRouterUs!, workerUs: workerUs!};
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const directory = newTenantDirectory();
const authority = new Authority('cluster');
const [a, b] = await Promise.all([ProcessHost.start('a', authority), ProcessHost.start('b', authority)]);
const worker = new ProcessWorker(directory);
try {
  b.serves(worker);
  a.refersTo(b);
  const made = await a.request('POST', '/documents', {table: 't', fields: {n: 1, text: 'x'.repeat(200)}});
  const {id} = (await made.json()) as {id: string};
  const path = `/api/tenants/${TENANT}/documents/t/${id}`;
  await block(a, b, worker, path);
  await block(b, a, worker, path);
  const [local, forwarded]: [Block[], Block[]] = [[], []];
  for (let round = 0; round < blocks; round++) {
    local.push(await block(b, a, worker, path));
    forwarded.push(await block(a, b, worker, path));
  }
  for (const [name, all] of Object.entries({local, forwarded})) {
    const of = (key: keyof Block) => median(all.map(one => one[key]));
    const cpu = [of('routerUs'), of('otherRouterUs'), of('workerUs')].map(us => us.toFixed(0));
    console.log(
      `${name.padEnd(10)}${of('rate').toFixed(0)}/s   us per request: router ${cpu[0]}, other router ${cpu[1]}, worker ${cpu[2]}`,
    );
  }
  const ratios = local.map((one, at) => forwarded[at]!.rate / one.rate);
  console.log(
    `forwarded to local: ${median(ratios).toFixed(2)} of the rate (${ratios.map(r => r.toFixed(2)).join(', ')})`,
  );
} finally {
  await Promise.all([a.stop(), b.stop(), worker.kill()]);
  removeTenantDirectory(directory);
}
process.exit(0);
