/**
 * Sandboxes of one tenant: how long a new one takes to its first answer, isolate and Node, and what 200 isolates at once weigh. The
 * process of the isolates is there before: what its start takes is a figure of its own.
 */
import {tenantPath} from '../../cli/client.ts';
import {commandLine, cpuSecondsWithEnded, descendants, privateBytes} from '../measure/process-tree.ts';
import {median} from '../measure/statistics.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';

export type SandboxRound = {
  /** Milliseconds from asking for one to the answer of its first execution: the very first of a tenant, and later ones. */
  firstMs: number;
  isolateMs: number;
  nodeMs: number;
  /** Processor time of one, of all processes of the server, its end included; null: unknown. */
  isolateCpuMs: number | null;
  nodeCpuMs: number | null;
  /** Of these the execution, the isolate being there. */
  executionMs: number;
  /** Private memory of their process for each of `AT_ONCE`; null: unknown. */
  bytesEach: number | null;
  /** Of a Node sandbox's process that has executed once. */
  nodeBytes: number | null;
  /** All of `AT_ONCE` have answered, beside each other. */
  allAnswered: boolean;
};

export const AT_ONCE = 200;
const TENANT = 'sandboxes';
const ISOLATES = 40;
const NODES = 8;
const MAKERS = 4;

type Made = {sandbox: {id: string}};
type Answered = {value: unknown};
type Took = {ms: number; executionMs: number};

export async function measureSandboxes(data: string, say: (text: string) => void): Promise<SandboxRound> {
  const svc = await startSvc(data);
  try {
    await svc.client.createTenant(TENANT);
    await svc.client.json('POST', tenantPath(TENANT, 'documents'), {table: 'warm', fields: {}});
    const firstMs = (await first(svc, {})).ms;
    const cpuMs = () => (cpuSecondsWithEnded(svc.process.pid) ?? Number.NaN) * 1_000;
    const each = (ms: number, count: number) => (Number.isNaN(ms) ? null : ms / count);
    const isolates: Took[] = [];
    const nodes: Took[] = [];
    const atStartMs = cpuMs();
    for (let i = 0; i < ISOLATES; i++) isolates.push(await first(svc, {}));
    const isolateCpuMs = each(cpuMs() - atStartMs, ISOLATES);
    const atNodesMs = cpuMs();
    let nodeBytes: number | null = null;
    const runtime = {runtime: 'node', node_version: process.versions.node.split('.')[0]};
    for (let i = 0; i < NODES; i++)
      nodes.push(await first(svc, runtime, () => (nodeBytes = ownOf(svc, 'node-child.js'))));
    const nodeCpuMs = each(cpuMs() - atNodesMs, NODES);
    const isolateMs = median(isolates.map(({ms}) => ms));
    say(
      `a new isolate sandbox ${isolateMs.toFixed(1)} ms, a Node sandbox ${median(nodes.map(({ms}) => ms)).toFixed(0)} ms`,
    );
    // With one of them their process stays.
    await make(svc, {});
    const before = ownOf(svc, 'sandboxes.js');
    const ids: string[] = [];
    const makeSome = async () => {
      while (ids.length < AT_ONCE) {
        const at = ids.push('') - 1;
        ids[at] = await make(svc, {});
      }
    };
    await Promise.all(Array.from({length: MAKERS}, makeSome));
    const answers = await Promise.all(ids.map((id, i) => execute(svc, id, i)));
    const after = ownOf(svc, 'sandboxes.js');
    const bytesEach = before === null || after === null ? null : (after - before) / AT_ONCE;
    say(`${AT_ONCE} at once: ${bytesEach === null ? 'unknown' : (bytesEach / 2 ** 20).toFixed(2)} MiB each`);
    return {
      firstMs,
      isolateMs,
      isolateCpuMs,
      nodeCpuMs,
      nodeMs: median(nodes.map(({ms}) => ms)),
      executionMs: median(isolates.map(({executionMs}) => executionMs)),
      bytesEach,
      nodeBytes,
      allAnswered: answers.every((value, i) => value === i),
    };
  } finally {
    await stopSvc(svc);
  }
}

/** One that is made, answers, and is stopped. */
async function first(svc: SvcPeer, body: object, look?: () => void): Promise<Took> {
  const startedMs = performance.now();
  const id = await make(svc, body);
  const madeMs = performance.now();
  await execute(svc, id, 1);
  const endedMs = performance.now();
  look?.();
  await svc.client.json('POST', tenantPath(TENANT, 'sandboxes', id, 'stop'));
  return {ms: endedMs - startedMs, executionMs: endedMs - madeMs};
}

async function make(svc: SvcPeer, body: object): Promise<string> {
  return (await svc.client.json<Made>('POST', tenantPath(TENANT, 'sandboxes'), body)).sandbox.id;
}

async function execute(svc: SvcPeer, id: string, i: number): Promise<unknown> {
  const path = tenantPath(TENANT, 'sandboxes', id, 'execute');
  return (await svc.client.json<Answered>('POST', path, {code: 'return args.i', args: {i}})).value;
}

/** Private memory of the process that runs this script. */
function ownOf(svc: SvcPeer, script: string): number | null {
  const pid = descendants(svc.process.pid).find(each => commandLine(each).some(word => word.endsWith(script)));
  return pid === undefined ? null : (privateBytes(pid)?.dirty ?? null);
}
