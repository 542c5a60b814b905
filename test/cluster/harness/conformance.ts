/** The suite that each implementation of the log passes. A scenario throws where the log breaks its contract. */
import {expect} from 'vitest';
import {PART_BYTES, SHARDS} from '../../../cluster/limits.ts';
import type {BaseInfo} from '../../../cluster/log/base-list.ts';
import {forgetTenant} from '../../../cluster/log/forget.ts';
import {EngineError} from '../../../cluster/log/log-engine.ts';
import type {LogPosition} from '../../../cluster/log/record.ts';
import {shardOf, type TenantName, tokenOf} from '../../../cluster/log/subjects.ts';
import type {AppendDecision, AppendOutcome} from '../../../cluster/log/tenant-log.ts';
import {sourceOf} from '../../../engine/copies/bytes.ts';
import {commitBody} from './commit-body.ts';
import type {Fault} from './faulty-engine.ts';
import {
  allOf,
  commit,
  type Host,
  hostOf,
  newTenant,
  note,
  opened,
  openOptions,
  type Rig,
  SUBJECTS,
  summary,
} from './rig.ts';

export type Scenario = (rig: Rig) => Promise<void>;

const RIVALS = 6;

export async function decided(outcome: Promise<AppendOutcome> | AppendOutcome): Promise<AppendDecision> {
  const found = await outcome;
  return found.kind === 'unknown' ? found.decided : found;
}

async function tailOf(host: Host, tenant: TenantName): Promise<LogPosition> {
  return (await host.log(tenant).tail())!;
}

export async function committed(outcome: Promise<AppendOutcome>): Promise<LogPosition> {
  const found = await decided(outcome);
  if (found.kind !== 'committed') throw new Error(`the append was ${found.kind}`);
  return found.position;
}

/** Rounds of hosts that all want to be the next owner. */
export function rivals(rounds: number): Scenario {
  return async rig => {
    const hosts = await Promise.all(Array.from({length: RIVALS}, () => hostOf(rig)));
    const tenant = newTenant();
    let tail = await opened(hosts[0]!.log(tenant), 1);
    for (let round = 0; round < rounds; round++) {
      const outcomes = await Promise.all(
        hosts.map((host, i) => decided(host.log(tenant).append(tail, note('open', tail.epoch + 1 + i)))),
      );
      const won = outcomes.filter(outcome => outcome.kind === 'committed');
      expect(won.length, `winners of round ${round}`).toBe(1);
      expect(outcomes.filter(outcome => outcome.kind === 'refused').length).toBe(RIVALS - 1);
      tail = won[0]!.position;
      expect(await hosts[round % RIVALS]!.log(tenant).tail()).toEqual(tail);
      if (round % 100 === 99) await hosts[0]!.log(tenant).trim(tail);
    }
  };
}

/** Two writers with one epoch, one of which does not know that it was replaced. */
async function twoOwners(rig: Rig): Promise<{a: Host; b: Host; tenant: TenantName; tail: LogPosition}> {
  const [a, b] = [await hostOf(rig), await hostOf(rig)];
  const tenant = newTenant();
  return {a, b, tenant, tail: await opened(a.log(tenant), 1)};
}

const lostAck: Scenario = async rig => {
  const {a, tenant, tail} = await twoOwners(rig);
  a.script('publish', ['ack_lost']);
  const first = await committed(a.log(tenant).append(tail, commit(1, 'one')));
  // The read after a lost ack is lost as well, so the record is sent again, and refused.
  a.script('publish', ['ack_lost']);
  a.script('read', ['lost', 'none']);
  const second = await committed(a.log(tenant).append(first, commit(1, 'two')));
  await committed(a.log(tenant).append(second, commit(1, 'three')));
  expect(await summary(a.log(tenant))).toEqual(['1.1 open', '1.2 commit', '1.3 commit', '1.4 commit']);
};

const refusedThenRetry: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  await opened(b.log(tenant), 2, tail);
  a.script('publish', ['ack_lost', 'none']);
  a.script('read', ['lost', 'stale']);
  expect((await decided(a.log(tenant).append(tail, commit(1, 'late')))).kind).toBe('refused');
  expect((await decided(a.log(tenant).append(tail, commit(1, 'late')))).kind).toBe('refused');
  expect(await summary(b.log(tenant))).toEqual(['1.1 open', '2.2 open']);
};

/** The first delivery arrives about when the second one does. */
const underWay: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  let at = tail;
  for (const late of [0, 60, 68, 69, 70, 71, 72, 73, 80, 110]) {
    a.script('publish', [{late}]);
    a.script('read', ['none', 'stale']);
    at = await committed(a.log(tenant).append(at, commit(1, `${late} ms`)));
  }
  await a.engine.settled();
  expect((await allOf(b.log(tenant))).length).toBe(11);
};

const delayedAfterOpen: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  a.script('publish', [{late: 400}, 'lost', 'lost']);
  a.script('read', ['lost', 'lost', 'lost']);
  const late = a.log(tenant).append(tail, commit(1, 'late'));
  const position = await opened(b.log(tenant), 2, tail);
  await a.engine.settled();
  // Its owner serves reads since it opened, so nothing may have come before its first commit.
  const next = await committed(b.log(tenant).append(position, commit(2, 'next')));
  expect((await decided(late)).kind).toBe('refused');
  expect(next.n).toBe(3);
  expect(await summary(b.log(tenant))).toEqual(['1.1 open', '2.2 open', '2.3 commit']);
  expect((await decided(a.log(tenant).append(tail, commit(1, 'again')))).kind).toBe('refused');
  expect(await a.log(tenant).open(openOptions(2, tail))).toEqual({
    kind: 'superseded',
    epoch: 2,
  });
};

/** While a host waits for the lease of the owner, that owner commits, and yet another host becomes the owner. */
const waitsForOwner: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  const c = await hostOf(rig);
  const waited: unknown[] = [];
  const outcome = await b.log(tenant).open({
    ...openOptions(3, null),
    ownerEnds: async ({openedBy, tail: newest}) => {
      waited.push({openedBy, hasClosed: newest.kind === 'close'});
      if (waited.length === 1) await committed(a.log(tenant).append(tail, commit(1, 'meanwhile')));
      if (waited.length === 2) await committed(a.log(tenant).append(await tailOf(a, tenant), note('close', 1)));
      if (waited.length === 3) await opened(c.log(tenant), 2);
    },
  });
  expect(waited).toEqual([
    {openedBy: 'host of epoch 1', hasClosed: false},
    {openedBy: 'host of epoch 1', hasClosed: false},
    {openedBy: 'host of epoch 1', hasClosed: true},
    {openedBy: 'host of epoch 2', hasClosed: false},
  ]);
  expect(outcome.kind).toBe('opened');
  expect(await summary(b.log(tenant))).toEqual(['1.1 open', '1.2 commit', '1.3 close', '2.4 open', '3.5 open']);
};

const emptiedSubject: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  const second = await committed(a.log(tenant).append(tail, commit(1, 'one')));
  await a.log(tenant).trim(second);
  expect(await a.log(tenant).tail()).toEqual(second);
  expect((await decided(b.log(tenant).append(null, note('open', 2)))).kind).toBe('unknowable');
  // Why the last record stays: an engine takes a first message again where there is none.
  const raw = await rig.connect();
  const subject = SUBJECTS.log(newTenant());
  const first = await raw.publish(subject, Buffer.from('1'), 0);
  expect(first).toMatchObject({kind: 'stored'});
  expect(await raw.publish(subject, Buffer.from('2'), 0)).toEqual({kind: 'refused'});
  await raw.removeBefore(subject, (first as {sequence: number}).sequence + 1);
  expect(await raw.publish(subject, Buffer.from('2'), 0)).toMatchObject({kind: 'stored'});
};

const trimKeepsLast: Scenario = async rig => {
  const {a, tenant, tail} = await twoOwners(rig);
  const second = await committed(a.log(tenant).append(tail, commit(1, 'one')));
  const third = await committed(a.log(tenant).append(second, commit(1, 'two')));
  await a.log(tenant).trim(second);
  await expect(allOf(a.log(tenant))).rejects.toMatchObject({code: 'trimmed'});
  await expect(allOf(a.log(tenant), tail)).resolves.toHaveLength(2);
  expect((await allOf(a.log(tenant), second)).map(({position}) => position)).toEqual([third]);
  await a.log(tenant).trim(third);
  await a.log(tenant).trim(second);
  expect(await a.log(tenant).tail()).toEqual(third);
  await expect(allOf(a.log(tenant), tail)).rejects.toMatchObject({code: 'trimmed'});
  const fourth = await committed(a.log(tenant).append(third, commit(1, 'three')));
  expect((await allOf(a.log(tenant), third)).map(({position}) => position)).toEqual([fourth]);
  await expect(a.log(tenant).trim({...fourth, sequence: fourth.sequence + SHARDS})).rejects.toMatchObject({
    code: 'behind',
  });
};

/** So many that an engine returns them by several requests: by their number, and by their bytes. */
const READS = [
  {records: 600, bytes: undefined},
  {records: 24, bytes: 400_000},
];

const longRead: Scenario = async rig => {
  for (const {records, bytes} of READS) {
    const {a, b, tenant, tail} = await twoOwners(rig);
    const others = await twoOwners(rig);
    let [at, other] = [tail, others.tail];
    const expected = [at];
    for (let i = 1; i < records; i++) {
      at = await committed(a.log(tenant).append(at, commit(1, `${i}`, bytes)));
      if (i % 50 === 0) other = await committed(others.a.log(others.tenant).append(other, commit(1, `${i}`)));
      expected.push(at);
    }
    const found: LogPosition[] = [];
    for await (const record of b.log(tenant).read(null)) {
      // What is appended since the reading began is for the next one.
      if (found.length === 0) at = await committed(a.log(tenant).append(at, commit(1, 'since')));
      found.push(record.position);
      if (found.length === 1) for await (const part of record.body()) expect(part.length).toBeGreaterThan(0);
    }
    expect(found).toEqual(expected);
    expect((await allOf(b.log(tenant), expected.at(-30)!)).map(({position}) => position)).toEqual([
      ...expected.slice(-29),
      at,
    ]);
    expect((await allOf(others.b.log(others.tenant))).at(-1)!.position).toEqual(other);
  }
};

/** What arrives of a reading is never taken for more than it is. */
const brokenReads: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  let at = tail;
  for (let i = 0; i < 30; i++) at = await committed(a.log(tenant).append(at, commit(1, `${i}`)));
  b.script('read', [...Array<Fault>(21).fill('none'), 'stale']);
  await expect(allOf(b.log(tenant))).rejects.toMatchObject({code: 'behind'});
  b.script('read', [...Array<Fault>(21).fill('none'), 'lost']);
  await expect(allOf(b.log(tenant))).rejects.toThrow(EngineError);
  expect(await allOf(b.log(tenant))).toHaveLength(31);
};

/** What a file can find when it comes back to its log. */
const otherHistories: Scenario = async rig => {
  const {a, tenant, tail} = await twoOwners(rig);
  const second = await committed(a.log(tenant).append(tail, commit(1, 'one')));
  const other = {...second, digest: Buffer.alloc(32)};
  await expect(allOf(a.log(tenant), other)).rejects.toMatchObject({code: 'diverged'});
  await expect(allOf(a.log(tenant), {...second, sequence: second.sequence + 9})).rejects.toMatchObject({
    code: 'behind',
  });
  await committed(a.log(tenant).append(second, note('close', 1)));
  expect(await summary(a.log(tenant))).toEqual(['1.1 open', '1.2 commit', '1.3 close']);
  expect((await opened(a.log(tenant), 2, second)).n).toBe(4);
};

const fullStream: Scenario = async rig => {
  const {a, tenant, tail} = await twoOwners(rig);
  const space = 400_000;
  await rig.setSpace(tenant, space);
  expect((await decided(a.log(tenant).append(tail, commit(1, 'one', space)))).kind).toBe('full');
  expect((await decided(a.log(tenant).append(tail, commit(1, 'one', 1_500_000)))).kind).toBe('full');
  expect(await summary(a.log(tenant))).toEqual(['1.1 open']);
  // The place is still free, so the same owner goes on once there is space.
  await rig.setSpace(tenant, Number.POSITIVE_INFINITY);
  const second = await committed(a.log(tenant).append(tail, commit(1, 'two', space)));
  expect(second.n).toBe(2);
};

const BIG_BYTES = 16 * 1024 * 1024;

const killedBetweenParts: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  const kill = new AbortController();
  let sent = 0;
  a.choose(request => {
    if (request === 'publish' && ++sent > 10) kill.abort();
    return kill.signal.aborted ? 'lost' : 'none';
  });
  const killed = await decided(a.log(tenant).append(tail, commit(1, 'killed', BIG_BYTES), kill.signal));
  expect(killed.kind).toBe('abandoned');
  expect(await summary(b.log(tenant))).toEqual(['1.1 open']);

  const position = await opened(b.log(tenant), 2, tail);
  b.script('publish', ['none', 'ack_lost', 'lost', 'duplicate']);
  const big = await committed(b.log(tenant).append(position, commit(2, 'whole', BIG_BYTES)));
  const [record] = await allOf(b.log(tenant), position);
  expect(record!.position).toEqual(big);
  const parts: Buffer[] = [];
  for await (const part of record!.body()) parts.push(part);
  expect(Buffer.concat(parts).equals(commitBody('whole', BIG_BYTES))).toBe(true);

  // The parts of the record that never came go with the records around them; those of the record that stays are there.
  const raw = await rig.connect();
  await b.log(tenant).trim(big);
  const first = await raw.next(SUBJECTS.parts(tenant), 1);
  expect(first!.sequence).toBeGreaterThan(position.sequence);
  for await (const part of record!.body()) expect(part.length).toBeGreaterThan(0);
  const last = await committed(b.log(tenant).append(big, commit(2, 'small')));
  await b.log(tenant).trim(last);
  expect(await raw.next(SUBJECTS.parts(tenant), 1)).toBeNull();
};

const smallRecords: Scenario = async rig => {
  const hosts = await Promise.all(Array.from({length: RIVALS}, () => hostOf(rig)));
  const [{replicated, script}] = hosts as [Host];
  const key = `tenant.${newTenant().id}`;
  const end = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const change of replicated.records.watch([key], end.signal)) {
      seen.push(change === null ? 'now' : `${change.record.value}`);
      if (change?.record.value === null) return;
    }
  })();
  script('publish', ['ack_lost']);
  const first = await replicated.records.set(key, Buffer.from('first'), 0);
  expect(first.kind).toBe('stored');
  const {revision} = first as {revision: number};
  const outcomes = await Promise.all(
    hosts.map((host, i) => host.replicated.records.set(key, Buffer.from(`host ${i}`), revision)),
  );
  expect(outcomes.filter(outcome => outcome.kind === 'stored').length).toBe(1);
  expect(outcomes.filter(outcome => outcome.kind === 'conflict').length).toBe(RIVALS - 1);
  const winner = outcomes.findIndex(outcome => outcome.kind === 'stored');
  const now = await replicated.records.get(key);
  expect(now!.value!.toString()).toBe(`host ${winner}`);
  expect(outcomes[winner]).toEqual({kind: 'stored', revision: now!.revision});
  expect((await replicated.records.set(key, null, now!.revision)).kind).toBe('stored');
  await watching;
  end.abort();
  expect(seen.filter(value => value !== 'now' && value !== 'first')).toEqual([`host ${winner}`, 'null']);
  const removed = await replicated.records.get(key);
  expect(removed!.value).toBeNull();
  // A removed record keeps its revision, so an earlier writer cannot begin it again.
  expect(await replicated.records.set(key, Buffer.from('again'), 0)).toMatchObject({kind: 'conflict'});
  expect(await replicated.records.set(key, Buffer.from(''), removed!.revision)).toMatchObject({kind: 'stored'});
  expect((await replicated.records.get(key))!.value).toEqual(Buffer.from(''));
};

const BASE_BYTES = 3 * PART_BYTES + 17;

const bases: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  const [mine, others] = [a.replicated.bases, b.replicated.bases];
  const base = (text: string) => ({
    position: tail,
    openedBy: 'host of epoch 1',
    file: sourceOf(commitBody(text, BASE_BYTES)),
  });
  const contentOf = async (info: BaseInfo) => {
    const parts: Buffer[] = [];
    for await (const part of others.read(tenant, info)) parts.push(part);
    return Buffer.concat(parts);
  };
  expect(await mine.list(tenant)).toEqual([]);
  // The list is set, and then each part is sent: one of them twice, and one without an answer.
  a.script('publish', ['none', 'none', 'ack_lost', 'duplicate']);
  expect(await mine.put(tenant, base('first'))).toMatchObject({kind: 'stored'});
  const [first] = await others.list(tenant);
  expect(first).toMatchObject({position: tail, openedBy: 'host of epoch 1', bytes: BASE_BYTES});
  expect((await contentOf(first!)).equals(commitBody('first', BASE_BYTES))).toBe(true);

  // A writer that ends between two parts leaves no base, and the next one removes its parts.
  const kill = new AbortController();
  let sent = 0;
  a.choose(request => {
    if (request === 'publish' && ++sent > 3) kill.abort();
    return kill.signal.aborted ? 'lost' : 'none';
  });
  expect((await mine.put(tenant, base('killed'), kill.signal)).kind).toBe('abandoned');
  a.choose(() => 'none');
  expect(await others.list(tenant)).toEqual([first]);
  expect((await others.put(tenant, base('second'))).kind).toBe('stored');
  const third = await others.put(tenant, base('third'));
  expect((await mine.list(tenant)).map(({id}) => id).indexOf((third as {base: BaseInfo}).base.id)).toBe(1);
  await expect(contentOf(first!)).rejects.toMatchObject({code: 'damaged'});

  // Two hosts that write one at the same time: the list has no base that is not whole.
  const both = await Promise.all([mine.put(tenant, base('mine')), others.put(tenant, base('others'))]);
  expect(both.filter(({kind}) => kind === 'stored').length).toBeLessThanOrEqual(1);
  const raw = await rig.connect();
  for (const info of await mine.list(tenant)) expect((await contentOf(info)).length).toBe(BASE_BYTES);
  expect(await raw.next(SUBJECTS.base(tenant, first!.id), 1)).toBeNull();

  // Those of a deleted tenant, with what a writer that ended has left.
  const left = await mine.list(tenant);
  const end = new AbortController();
  sent = 0;
  a.choose(request => {
    if (request === 'publish' && ++sent > 2) end.abort();
    return end.signal.aborted ? 'lost' : 'none';
  });
  expect((await mine.put(tenant, base('late'), end.signal)).kind).toBe('abandoned');
  a.choose(() => 'none');
  const last = await committed(a.log(tenant).append(tail, commit(1, 'last', PART_BYTES + 1)));
  expect(await forgetTenant(b.replicated, tenant)).toBe(true);
  await expect(summary(a.log(tenant))).rejects.toMatchObject({code: 'trimmed'});
  expect(await tailOf(a, tenant)).toEqual(last);
  expect(await others.list(tenant)).toEqual([]);
  expect(await raw.last(SUBJECTS.record(`base.${tokenOf(tenant)}`))).toBeNull();
  for (const {id} of left) expect(await raw.next(SUBJECTS.base(tenant, id), 1)).toBeNull();
};

const erasedRecords: Scenario = async rig => {
  const [a, b] = [await hostOf(rig), await hostOf(rig)];
  const key = `erased.${newTenant().id}`;
  const stored = async (value: string, revision: number) => {
    const outcome = await a.replicated.records.set(key, Buffer.from(value), revision);
    if (outcome.kind !== 'stored') throw new Error(outcome.kind);
    return outcome.revision;
  };
  const first = await stored('first', 0);
  const second = await stored('second', first);
  await b.replicated.records.erase(key, first);
  expect((await a.replicated.records.get(key))?.value?.toString()).toBe('second');
  await b.replicated.records.erase(key, second);
  expect(await a.replicated.records.get(key)).toBeNull();
  // A writer that has read it does not store its change.
  expect((await a.replicated.records.set(key, Buffer.from('third'), second)).kind).toBe('conflict');
  expect(await stored('new', 0)).toBeGreaterThan(second);
};

const newRecords: Scenario = async rig => {
  const {a, b, tenant, tail} = await twoOwners(rig);
  const end = new AbortController();
  const seen: (string | null)[] = [];
  let begin = () => {};
  const begun = new Promise<void>(resolve => {
    begin = resolve;
  });
  const watching = (async () => {
    for await (const token of b.replicated.newRecords(shardOf(tenant.id), end.signal)) {
      if (token === null) begin();
      if (token === null || token === tokenOf(tenant)) seen.push(token);
      if (seen.length === 3) return;
    }
  })();
  await begun;
  const first = await committed(a.log(tenant).append(tail, commit(tail.epoch, 'in parts', PART_BYTES + 1)));
  await committed(a.log(tenant).append(first, commit(tail.epoch, 'second')));
  await watching;
  end.abort();
  expect(seen).toEqual([null, tokenOf(tenant), tokenOf(tenant)]);
};

/** Except for the rivals, whose rounds the caller chooses. */
export const SCENARIOS: Record<string, Scenario> = {
  'a lost ack, then a retry: stored once': lostAck,
  'a refused record, then a retry: refused': refusedThenRetry,
  'a retry while the first delivery is under way: stored once': underWay,
  'a delayed record that arrives after the next epoch was opened: refused': delayedAfterOpen,
  'an open waits, before each attempt, for the owner that the log names': waitsForOwner,
  'a log that was trimmed to its last record takes no first one': emptiedSubject,
  'a trim keeps its record and those after it': trimKeepsLast,
  'a long log is read to where it ended at the beginning, whole and in order': longRead,
  'a reading that ends early, or fails, is not a shorter log': brokenReads,
  'a file of another history is noticed': otherHistories,
  'a full stream: refused, and appended once there is space': fullStream,
  'a writer killed between the parts of 16 MiB leaves no record': killedBetweenParts,
  'bases are stored whole or not at all, and two of them stay': bases,
  'nothing is left of a small record that is erased, unless it was changed': erasedRecords,
  'new records of a shard are reported, and neither earlier ones nor parts': newRecords,
  'small records are set by revision, watched, and removed': smallRecords,
};
