/**
 * Owners that stop at any step and resume after a takeover, on real hosts. Neither what they answer nor what they append
 * contradicts what the next owner has acknowledged, unless a safeguard is taken out.
 */
import {readFileSync} from 'node:fs';
import {afterAll, describe, expect, test} from 'vitest';
import {firstOf} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import type {Reply} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {FencedBuild, type HostFault, type HostMutant, type StopPoint} from './harness/fenced-build.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;
/** Of the documents: before the takeover, by the next owner, and by the one that is stopped. */
const [FIRST, NEXT, STOPPED] = [1, 2, 3];
let tenants = 0;

const build = new FencedBuild();
// The hosts are stopped before.
afterAll(() => build.remove());
const cluster = await hostsOfFile({dist: build.dist, args: ['--lease', '3s']});

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});
const read = (host: SvcHost, tenant: string) =>
  host.service.post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []});

/** Null: it is refused. */
function numbersIn({status, body}: Reply): number[] | null {
  return status === 200 ? (body as {data: {n: number}[]}).data.map(({n}) => n).sort() : null;
}

const numbersOn = (host: SvcHost, tenant: string) =>
  until(`${host.name} to serve ${tenant}`, async () => numbersIn(await read(host, tenant)));

/** A host that owns a tenant with one document, and another host. */
type Owned = {tenant: string; a: SvcHost; b: SvcHost};

async function owned(): Promise<Owned> {
  const tenant = await cluster.tenant(`fenced-${++tenants}`);
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  await until('it to be moved', async () => {
    return (await b.service.post('/api/cluster/move', {tenant, host: a.name})).status === 200;
  });
  await until('it to be served there', async () => {
    return (await numbersOn(a, tenant)).length === 0 && a.service.ownerOf(tenant) !== null;
  });
  expect(await write(a, tenant, FIRST)).toMatchObject({status: 201});
  return {tenant, a, b};
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, name);
}

/** The worker of a request stops there, and then its whole host. @returns what is answered once it resumes */
async function stoppedAt(
  point: StopPoint,
  {a, tenant}: Owned,
  send: () => Promise<Reply>,
): Promise<{answer: Promise<Reply>}> {
  const worker = await a.service.workerOf(tenant);
  build.set(point);
  const answer = send();
  await until('the worker to stop', () => / T /.test(readFileSync(`/proc/${worker}/stat`, 'utf8')));
  build.set();
  signal(a.service.processes(), 'SIGSTOP');
  return {answer};
}

const takeover = ({b, tenant}: Owned) => until('a takeover', async () => (await write(b, tenant, NEXT)).status === 201);

/** All hosts return the same. */
async function allHave({tenant}: Owned, numbers: readonly number[]): Promise<void> {
  for (const host of cluster.hosts) expect(await numbersOn(host, tenant)).toEqual(numbers);
}

describe('an owner that is stopped, and resumed after a takeover', () => {
  test('between the COMMIT and the append: its write is not acknowledged, and no host has it', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const of = await owned();
    const {answer} = await stoppedAt('before the append', of, () => write(of.a, of.tenant, STOPPED));
    await takeover(of);
    signal(of.a.service.processes(), 'SIGCONT');
    expect(await answer).toMatchObject({status: 503});
    await allHave(of, [FIRST, NEXT]);
  });

  test('between the ack of the log and the reply: every host has its write', {timeout: TIMEOUT_MS}, async () => {
    const of = await owned();
    const {answer} = await stoppedAt('before the reply', of, () => write(of.a, of.tenant, STOPPED));
    await takeover(of);
    signal(of.a.service.processes(), 'SIGCONT');
    const {status, text} = await answer;
    if (status !== 201) expect([status, text]).toEqual([503, expect.stringContaining('session.outcome_unknown')]);
    await allHave(of, [FIRST, NEXT, STOPPED]);
  });

  test('between reading its lease and the reply: the next read has what was acknowledged meanwhile, or is refused', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const of = await owned();
    const {a, tenant} = of;
    const {answer} = await stoppedAt('after the lease was read', of, () => read(a, tenant));
    await takeover(of);
    const next = read(a, tenant);
    signal(a.service.processes(), 'SIGCONT');
    // It began before the other write.
    expect([null, [FIRST], [FIRST, NEXT]]).toContainEqual(numbersIn(await answer));
    expect([null, [FIRST, NEXT]]).toContainEqual(numbersIn(await next));
    await allHave(of, [FIRST, NEXT]);
  });
});

/** Its worker and its router resume before the cluster process can report that the host was expired. */
async function readsAfterTakeover(...on: HostMutant[]): Promise<number[] | null> {
  const of = await owned();
  const {a, tenant} = of;
  build.set(...on);
  signal(a.service.processes(), 'SIGSTOP');
  await takeover(of);
  const answer = read(a, tenant);
  signal([...a.service.children('worker'), ...a.service.children('router')], 'SIGCONT');
  const numbers = numbersIn(await answer);
  build.set();
  signal(a.service.processes(), 'SIGCONT');
  return numbers;
}

/** @returns whether its write was acknowledged, and what another host returns then, which has returned the first one before */
async function appendsAfterTakeover(
  ...on: (HostMutant | HostFault)[]
): Promise<{isAcknowledged: boolean; numbers: number[] | null}> {
  const of = await owned();
  const {a, b, tenant} = of;
  const {answer} = await stoppedAt('before the append', of, () => write(a, tenant, STOPPED));
  build.set('its renewals wait', ...on);
  expect(await numbersOn(b, tenant)).toEqual([FIRST]);
  signal(a.service.processes(), 'SIGCONT');
  const {status} = await answer;
  const numbers = numbersIn(await read(b, tenant));
  build.set();
  return {isAcknowledged: status === 201, numbers};
}

describe('a read of an owner that was stopped', () => {
  test('is refused while it is not known that another host has taken over', {timeout: TIMEOUT_MS}, async () => {
    expect(await readsAfterTakeover()).toBe(null);
  });

  test('is old when the lease is ignored', {timeout: TIMEOUT_MS}, async () => {
    expect(await readsAfterTakeover('lease ignored')).toEqual([FIRST]);
  });
});

describe('an append of an owner that was stopped', () => {
  test.each(firstOf<[HostFault[]]>(1, [[[]], [['the record instead is not read once']]]))(
    'is refused: %j',
    {timeout: TIMEOUT_MS},
    async faults => {
      expect(await appendsAfterTakeover(...faults)).toEqual({isAcknowledged: false, numbers: [FIRST]});
    },
  );

  const mutants: [HostMutant, HostFault[]][] = [
    ['open skipped', []],
    ['expectation dropped', []],
    ['message ids trusted', ['the record instead is not read once']],
  ];
  test.each(firstOf(1, mutants))(
    'is acknowledged, and missing on the next owner, with %s',
    {timeout: TIMEOUT_MS},
    async (mutant, faults) => {
      expect(await appendsAfterTakeover(mutant, ...faults)).toEqual({isAcknowledged: true, numbers: [FIRST]});
    },
  );
});
