/** Owners of tenants, in memory with virtual time. */
import {randomInt} from 'node:crypto';
import {expect, test} from 'vitest';
import {decodeTenant, encodeTenant, noteOfOwner, ownerOfNote} from '../../cluster/ownership/tenant-record.ts';
import {rounds} from '../harness/nightly.ts';
import {withoutExpectation} from './harness/mutants.ts';
import {ownerHistory} from './harness/owner-history.ts';
import type {OwnerMutant} from './harness/owning-host.ts';

const BEGIN = process.env.SVC_CLUSTER_SEED === undefined ? randomInt(2 ** 30) : Number(process.env.SVC_CLUSTER_SEED);
const SEEDS = Array.from({length: rounds({commit: 20, nightly: 300})}, (_, i) => BEGIN + i);
/** Those of the mutants are the same in each run. */
const FIXED_SEEDS = Array.from({length: 60}, (_, i) => i);
const TIMEOUT_MS = 300_000;

test(
  `reads and writes by any host are those of one tenant, whatever fails, from seed ${BEGIN}`,
  async () => {
    const seen = {reads: 0, writes: 0, takeovers: 0};
    for (const seed of SEEDS) {
      const {violations, reads, writes, takeovers} = await ownerHistory(seed);
      expect(violations, `seed ${seed}`).toEqual([]);
      seen.reads += reads;
      seen.writes += writes;
      seen.takeovers += takeovers;
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(SEEDS.length);
  },
  TIMEOUT_MS,
);

test.each<[string, OwnerMutant]>([
  ['reads are answered without a lease', 'reads_without_lease'],
  ['the former owner is not awaited', 'former_owner_not_awaited'],
  ['the log is not opened', 'log_not_opened'],
])(
  'this fails if %s',
  async (_, mutant) => {
    for (const seed of FIXED_SEEDS) if ((await ownerHistory(seed, {mutant})).violations.length > 0) return;
    expect.unreachable('no seed found it');
  },
  TIMEOUT_MS,
);

test(
  'this fails if records are replaced whatever is there',
  async () => {
    for (const seed of FIXED_SEEDS) {
      const found = await ownerHistory(seed, {wrap: withoutExpectation}).then(
        ({violations}) => violations.length > 0,
        () => true,
      );
      if (found) return;
    }
    expect.unreachable('no seed found it');
  },
  TIMEOUT_MS,
);

const TENANT = {
  generation: 3,
  epoch: 7,
  owner: {host: 'a', incarnation: 2},
  pin: null,
  createdMs: 1,
  dueMs: null,
  isDeleted: false,
};

test('an entry is read as it was written', () => {
  for (const record of [TENANT, {...TENANT, owner: null, pin: 'b'}]) {
    expect(decodeTenant('acme', encodeTenant(record))).toEqual(record);
  }
  expect(ownerOfNote(noteOfOwner(TENANT.owner))).toEqual(TENANT.owner);
});

test.each<[string, unknown]>([
  ['another format', {...TENANT, format: 2}],
  ['an unknown member', {...TENANT, format: 1, secret: 1}],
  ['a negative epoch', {...TENANT, format: 1, epoch: -1}],
  ['an owner without incarnation', {...TENANT, format: 1, owner: {host: 'a'}}],
  ['an owner with a wrong name', {...TENANT, format: 1, owner: {host: 'A b', incarnation: 1}}],
  ['a list', []],
])('an entry with %s is refused', (_, value) => {
  const bytes = Buffer.from(JSON.stringify(value));
  expect(() => decodeTenant('acme', bytes)).toThrow('the entry of the tenant acme breaks its format');
});

test.each(['', 'a', 'a.0', 'a.1.2', 'A.1', 'a.x', 'a.1234567890123456'])('%j names no owner', note => {
  expect(ownerOfNote(note)).toBeNull();
});
