/** `svc cluster verify` and `forget`, on a log in memory. */
import {expect, test} from 'vitest';
import {LEASE_MS, LEASE_WAIT, RENEW_MS} from '../../cluster/limits.ts';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {TenantName} from '../../cluster/log/subjects.ts';
import {delay} from '../../cluster/log/timing.ts';
import {forgetHost} from '../../cluster/members/forget.ts';
import {memberKey} from '../../cluster/members/member-record.ts';
import {checkLog} from '../../cluster/ownership/check-log.ts';
import {encodeTenant, tenantKey} from '../../cluster/ownership/tenant-record.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {MemoryStreams} from './harness/memory-engine.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {CLUSTER, commit, newTenant, opened} from './harness/rig.ts';
import {TestMember} from './harness/test-member.ts';
import {VirtualTime} from './harness/virtual-time.ts';

const FILE = Buffer.from('a file');

/** A tenant with a base, and two commits after it. @param tamper with what is read afterwards */
async function checked(
  prepare: (log: ReplicatedLog, tenant: TenantName) => Promise<void>,
  tamper: (engine: LogEngine) => LogEngine = engine => engine,
) {
  const rig = memoryRig();
  let found: Awaited<ReturnType<typeof checkLog>> = null;
  await rig.run(async () => {
    const engine = await rig.connect();
    const log = new ReplicatedLog(engine, CLUSTER, rig.timing);
    const tenant = newTenant();
    const entry = {
      generation: 1,
      epoch: 1,
      owner: {host: 'a', incarnation: 1},
      pin: null,
      createdMs: 1,
      dueMs: null,
      isDeleted: false,
    };
    await log.records.set(tenantKey(tenant.id), encodeTenant(entry), 0);
    await prepare(log, tenant);
    found = await checkLog(new ReplicatedLog(tamper(engine), CLUSTER, rig.timing), tenant.id);
  });
  return found!;
}

async function filled(log: ReplicatedLog, tenant: TenantName): Promise<void> {
  let tail = await opened(log.tenant(tenant), 1);
  await log.bases.put(tenant, {position: tail, openedBy: 'a.1', file: sourceOf(FILE)});
  for (const text of ['one', 'two']) {
    const outcome = await log.tenant(tenant).append(tail, commit(1, text));
    if (outcome.kind !== 'committed') throw new Error(outcome.kind);
    tail = outcome.position;
  }
}

test('a tenant whose bases and records are whole has no findings', async () => {
  expect(await checked(filled)).toEqual({
    owner: {host: 'a', incarnation: 1},
    epoch: 1,
    bases: 1,
    records: 2,
    bytes: expect.any(Number),
    findings: [],
  });
});

/** Changes the last byte of what is read from subjects of a kind. */
function damaging(kind: 'log' | 'base'): (engine: LogEngine) => LogEngine {
  const damaged = <T extends {bytes: Buffer} | null>(message: T): T => {
    if (message === null) return message;
    const bytes = Buffer.from(message.bytes);
    bytes[bytes.length - 1]! ^= 1;
    return {...message, bytes};
  };
  return engine =>
    new Proxy(engine, {
      get(target, name) {
        const isOf = (subject: {name: string}) => subject.name.startsWith(`svc.${CLUSTER}.${kind}.`);
        if (name === 'next' || name === 'last') {
          return async (...args: [{name: string}, number]) => {
            const message = await (target[name] as (...given: unknown[]) => Promise<{bytes: Buffer} | null>)(...args);
            return isOf(args[0]) ? damaged(message) : message;
          };
        }
        if (name === 'messages') {
          return async function* (...args: Parameters<LogEngine['messages']>) {
            for await (const message of target.messages(...args)) yield isOf(args[0]) ? damaged(message) : message;
          };
        }
        const member = target[name as keyof LogEngine] as unknown;
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
}

test.each(['log', 'base'] as const)('a changed byte in a %s is a finding', async kind => {
  const {findings} = await checked(filled, damaging(kind));
  expect(findings).toEqual([expect.stringMatching(kind === 'log' ? /record|digest|body/ : /SHA-256/)]);
});

test('records that are gone, and an entry behind its log, are findings', async () => {
  const {findings: lost} = await checked(async (log, tenant) => {
    const tail = await opened(log.tenant(tenant), 1);
    const never = {...tail, n: tail.n + 5, sequence: tail.sequence + 5};
    await log.bases.put(tenant, {position: never, openedBy: 'a.1', file: sourceOf(FILE)});
  });
  expect(lost).toEqual([expect.stringContaining('the log ends before')]);
  const {findings: behind} = await checked(async (log, tenant) => {
    await opened(log.tenant(tenant), 4);
  });
  expect(behind).toEqual(['the log was opened in epoch 4, and the entry of the tenant has 1']);
});

test('a host is forgotten once its lease is over; one that lives is not', async () => {
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  const [a, b] = ['a', 'b'].map(host => new TestMember(time, streams, {host}));
  await time.run(
    (async () => {
      const {clock, replicated} = b!;
      const {records} = replicated;
      const forget = (host: string) => forgetHost(records, host, {clock}, b!.signal);
      for (const host of [a!, b!]) {
        await host.lease.join(null, host.signal);
        void host.lease.renew(host.signal);
      }
      expect(await forget('a')).toBe('alive');
      expect(await forget('c')).toBe('unknown');
      await a!.kill();
      const killed = time.nowMs;
      expect(await forget('a')).toBe('forgotten');
      expect(time.nowMs - killed).toBeGreaterThan(LEASE_WAIT * LEASE_MS - 2 * RENEW_MS);
      expect((await records.get(memberKey('a')))?.value).toBe(null);
      await delay(time, RENEW_MS);
      expect(await forget('b')).toBe('alive');
    })().finally(() => Promise.all([a!.kill(), b!.kill()])),
  );
});
