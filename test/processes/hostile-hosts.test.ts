/**
 * Code that has left its isolate and speaks on the pipe of its process, in a real server: 1,000 random frames on each kind of pipe, most of
 * them as a process of ours says them. They cost their sender its life at most: its worker and the neighbour serve on.
 */
import {Buffer} from 'node:buffer';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, beforeAll, beforeEach, expect, onTestFailed, test} from 'vitest';
import {checkedFromHost} from '../../worker/control/sandbox-message.ts';
import {checkedFromAnalysis} from '../../worker/runtime/analysis/analysis-message.ts';
import {checkedMessage} from '../../worker/runtime/isolate-process/checked-message.ts';
import {checkedFromNode} from '../../worker/runtime/node/node-message.ts';
import {newSandbox} from '../control/sandbox-client.ts';
import {NODE_VERSION} from '../control/service-client.ts';
import {App, uploadOf} from '../functions/app.ts';
import {onNode} from '../functions/node/node-app.ts';
import {ChangedBuild} from '../harness/changed-build.ts';
import {rounds} from '../harness/nightly.ts';
import {type Reply, Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {
  analysisAnswer,
  bareFromIsolates,
  type Fields,
  frame,
  fromHost,
  fromIsolates,
  fromNode,
  nearly,
} from '../runtime/hostile-frames.ts';

const SEED = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
const FRAMES = rounds({commit: 300, nightly: 3_000});
/** As many as one call has its process write. */
const BATCH = 100;
const CALLS = FRAMES / BATCH;

/**
 * A process writes to its worker what a message says after `attack:`. @param begun whether it begins first what the message requests: a Node
 * process that ends before that has its call given to another one
 */
const shim = (begun: boolean) => `
import {Socket as AttackedSocket} from 'node:net';
{
  const {emit} = AttackedSocket.prototype;
  let said = '';
  AttackedSocket.prototype.emit = function (name, ...given) {
    if (name === 'data' && Buffer.isBuffer(given[0])) said += given[0].toString('latin1');
    const [, attack] = /attack:([A-Za-z0-9+/=]+);/.exec(said) ?? [];
    if (attack === undefined) return emit.call(this, name, ...given);
    said = '';
    const write = () => this.write(Buffer.from(attack, 'base64'));
    if (${begun}) setImmediate(write);
    else write();
    return emit.call(this, name, ...given);
  };
}
`;

let build: ChangedBuild;
let service: Service;
let other: Tenant;
beforeAll(async () => {
  build = new ChangedBuild();
  for (const name of ['isolates.js', 'node-child.js', 'sandboxes.js', 'analysis.js']) {
    const path = join(build.dist, name);
    writeFileSync(path, `${shim(name === 'node-child.js')}${readFileSync(path, 'utf8')}`);
  }
  service = await Service.start({dist: build.dist});
  other = await Tenant.make(service);
  await other.insert('t', {n: 1});
});
afterAll(async () => {
  await service.stop();
  build.remove();
});
beforeEach(() => {
  service.showLogOnFailure();
  onTestFailed(() => void process.stderr.write(`SVC_SEED=${SEED}\n`));
});

const TAILS = ['1', '', '{"path":"a:f","args":{}}'];

type Check = (head: Fields, tail: Buffer) => unknown;

/**
 * Batches of random frames; the last of each is one that the check refuses. The first batch is such a frame alone: those
 * before it can forge the result, and then the answer does not say that the process ended.
 */
function batches(seed: number, rights: (batch: number) => Fields[], check: Check, said = TAILS): string[] {
  return Array.from({length: CALLS}, (_, batch) => {
    const frames: Buffer[] = [];
    const tails = fc.oneof({weight: 4, arbitrary: fc.constantFrom(...said)}, fc.string());
    const forged = fc.tuple(nearly(rights(batch)), tails);
    // Most that are random in every field are refused: they would end the process, and what follows them would not be heard.
    const sample = fc.sample(forged, {numRuns: 20 * BATCH, seed: seed + batch});
    const isTaken = ([head, tail]: [Fields, string]) => check(head, Buffer.from(tail)) !== null;
    const taken = batch === 0 ? [] : sample.filter(isTaken).slice(0, BATCH - 1);
    for (const [head, tail] of taken) frames.push(frame(JSON.stringify(head), tail));
    const [head, tail] = sample.find(said => !isTaken(said))!;
    frames.push(frame(JSON.stringify(head), tail));
    expect(frames).toHaveLength(batch === 0 ? 1 : BATCH);
    return `attack:${Buffer.concat(frames).toString('base64')};`;
  });
}

/** Each attack is answered, by the same worker, while the neighbour is served. @param cost what an answer or the log says of a process that was ended */
async function survives(
  tenant: string,
  attacks: string[],
  cost: string,
  send: (attack: string, at: number) => Promise<Reply>,
) {
  const worker = await service.workerOf(tenant);
  const answers: string[] = [];
  for (const [at, attack] of attacks.entries()) {
    const reply = await send(attack, at);
    expect(JSON.parse(reply.text), `attack ${at}`).toBeTypeOf('object');
    answers.push(reply.text);
    expect(await other.list('t')).toMatchObject([{n: 1}]);
  }
  expect(await service.workerOf(tenant)).toBe(worker);
  expect(answers.join('\n') + service.log).toContain(cost);
  expect(service.log).not.toContain('unexpected error');
}

const NAMES = Array.from({length: CALLS}, (_, at) => `f${at}`);
/** As many functions as there are attacks: one that ends its process again and again is refused. */
const functions = (head: string) => ({
  'a.ts': `${head}import {action} from './_generated/server';
    ${[...NAMES, 'g']
      .map(
        name => `export const ${name} = action(async (_, {text}) => {
        if (text.startsWith('attack')) await new Promise(resolve => setTimeout(resolve, 10_000));
        return text.length;
      });`,
      )
      .join('\n')}`,
});

test('on the pipe of isolates', async () => {
  const app = await App.deploy(service, functions(''));
  const rights = [...bareFromIsolates, ...fromIsolates, ...fromIsolates];
  const check: Check = (head, tail) => checkedMessage(head, tail.length);
  await survives(
    app.tenant,
    batches(SEED, () => rights, check),
    "the action's process ended",
    (text, at) => app.svc('POST', '/action', {path: `a:f${at}`, args: {text}}),
  );
  expect(await app.action('a:g', {text: 'abc'})).toBe(3);
});

test('on the pipe of Node processes', async () => {
  const app = await App.deploy(service, {...onNode(NODE_VERSION), ...functions(`"use node";\n`)});
  const attacks = batches(SEED, at => fromNode(at + 1), checkedFromNode);
  await survives(app.tenant, attacks, 'violated the protocol', (text, at) =>
    app.svc('POST', '/action', {path: `a:f${at}`, args: {text}}),
  );
  expect(await app.action('a:g', {text: 'abc'})).toBe(3);
});

test('on the pipe of sandboxes, and of one with Node', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const executed = async (attack: string, options: object) => {
    // The process of the one before may be about to end.
    const {id} = await until('a sandbox', () => newSandbox(tenant, options).catch(() => null));
    const code =
      attack === '' ? 'return 0' : `await new Promise(resolve => setTimeout(resolve, 5_000)); return '${attack}'`;
    const reply = await tenant.request('POST', `/sandboxes/${id}/execute`, {code});
    await tenant.request('POST', `/sandboxes/${id}/stop`);
    return reply;
  };
  await survives(
    tenant.id,
    batches(SEED, () => fromHost(), checkedFromHost),
    'it said what it never says',
    attack => executed(attack, {}),
  );
  const inNode = batches(SEED, () => fromNode(), checkedFromNode).slice(0, 5);
  const node = {runtime: 'node', node_version: NODE_VERSION};
  await survives(tenant.id, inNode, 'violated the protocol', attack => executed(attack, node));
  for (const options of [{}, node]) expect((await executed('', options)).text).toContain('"value":0');
});

const nearlyAnswers = nearly(analysisAnswer.manifest.functions).map(entry => ({
  ...analysisAnswer,
  manifest: {...analysisAnswer.manifest, functions: [entry]},
}));

test('on the pipe of the analysis', async () => {
  const app = await App.empty(service);
  expect((await app.admin('POST', '/documents', {table: 't', fields: {}})).status).toBe(201);
  const upload = await uploadOf({
    'm.ts': `import {query} from './_generated/server'; export const f = query(() => 'ATTACK');`,
  });
  const deploy = (attack: string) =>
    app.admin('POST', '/deployments', JSON.stringify(upload).replaceAll('ATTACK', attack), {
      'content-type': 'application/json',
    });
  const answers = [...fc.sample(nearlyAnswers, {numRuns: 50, seed: SEED}), analysisAnswer, analysisAnswer].map(said =>
    JSON.stringify(said),
  );
  // The first deploy may move the tenant to a worker that can run functions.
  expect((await deploy('')).status).toBe(201);
  const rights = [{type: 'analyzed'}, {type: 'file', sourceBytes: 1}, {type: 'file', sourceBytes: 0}];
  await survives(
    app.tenant,
    batches(SEED, () => rights, checkedFromAnalysis, answers),
    'the upload could not be looked at',
    deploy,
  );
  await until('a deploy', async () => (await deploy('')).status === 201);
});
