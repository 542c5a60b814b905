/**
 * Checks the model of a tenant's log (`tenant-log.pml`, decision 0109) with spin: no step of the protocol breaks a
 * property, within the bounds of each run, and each fault does. The search visits every state; nothing is hashed away.
 * `apt-get install spin gcc` installs what it needs.
 */
import {execFile} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {nightly} from '../../harness/nightly.ts';

const run = promisify(execFile);
const MODEL = join(import.meta.dirname, 'tenant-log.pml');

type Bounds = {WRITES: number; EPOCHS: number; LEASE?: number; LATE_UPDATES?: 0 | 1; MUTANT?: string};

/** @returns the property that is broken, or null @throws if the search was not complete */
async function check(bounds: Bounds, megabytes = 1500): Promise<{broken: string | null}> {
  const cwd = await mkdtemp(join(tmpdir(), 'svc-model-'));
  try {
    const defines = Object.entries(bounds).map(([name, value]) => `-D${name}=${value}`);
    await run('spin', ['-a', ...defines, MODEL], {cwd});
    // A fault is found before an optimized search is compiled.
    const flags = [
      '-w',
      bounds.MUTANT === undefined ? '-O2' : '-O0',
      '-DSAFETY',
      '-DNOREDUCE',
      '-DCOLLAPSE',
      `-DMEMLIM=${megabytes}`,
    ];
    await run('gcc', [...flags, '-o', 'pan', 'pan.c'], {cwd});
    const {stdout} = await run('./pan', ['-m100000', '-w22', '-n'], {cwd});
    const broken = /assertion violated (.*) \(at depth \d+\)/.exec(stdout)?.[1] ?? null;
    const isWhole = / errors: 0\n/.test(stdout) && !/Search not completed|max search depth/.test(stdout);
    if (broken === null && !isWhole) throw new Error(`the search was not complete:\n${stdout}`);
    return {broken};
  } finally {
    await rm(cwd, {recursive: true});
  }
}

const ONE_HISTORY = 'content[h]==expected';
const EPOCHS_RISE = 'logEpoch[(logLength-1)]<=byEpoch';
const STORED_ONCE = '(logContent&(1<<(kind-3)))==0';
const REFUSED_FOR_GOOD = 'logContent&refusedForGood';
const FRESH_READS = 'floor& ~(expected)';
const READS_OF_THE_LOG = 'expected& ~(logContent)';
const ONE_SERVER = '(lease[0]>0))&&((phase[1]';

/** The bounds in which each fault is found: without one, nothing is. */
const ONE_WRITE = {WRITES: 1, EPOCHS: 3};
const LATE = {WRITES: 0, EPOCHS: 2, LATE_UPDATES: 1} as const;

test.each<[string, Bounds]>([
  ['of one write and three opens', ONE_WRITE],
  ['where updates of the lease are late', LATE],
])(
  'in all orders %s no write is lost, there is one history, and reads are fresh',
  async (_, bounds) => expect(await check(bounds)).toEqual({broken: null}),
  300_000,
);

test.each([
  ['EXPECTATION_DROPPED', [EPOCHS_RISE, STORED_ONCE]],
  ['LEASE_IGNORED', [FRESH_READS, ONE_SERVER]],
  ['OPEN_SKIPPED', [FRESH_READS, ONE_HISTORY]],
  ['MSG_ID_TRUSTED', [ONE_HISTORY]],
  ['CUT_SKIPPED', [ONE_HISTORY]],
  ['WAIT_AFTER_OPEN', [FRESH_READS, ONE_SERVER]],
  ['OWNER_OF_THE_BUCKET', [FRESH_READS, ONE_SERVER]],
  ['REFUSAL_BELIEVED', [REFUSED_FOR_GOOD]],
  ['EARLY_READ', [READS_OF_THE_LOG]],
  ['WAIT_TOO_SHORT', [FRESH_READS, ONE_SERVER]],
  ['REJOIN_KEEPS_SERVING', [FRESH_READS, ONE_SERVER]],
  ['CLOSE_KEEPS_SERVING', [FRESH_READS]],
  ['OLD_EPOCH_OPENS', [EPOCHS_RISE]],
  ['CLOCK_OF_THE_TURN', [FRESH_READS]],
  ['EXPIRE_UNCONDITIONAL', [FRESH_READS, ONE_SERVER]],
])('%s is found', async (MUTANT, properties) => {
  const {broken} = await check({...ONE_WRITE, MUTANT});
  expect(properties.filter(property => broken?.includes(property))).toHaveLength(1);
});

test('LEASE_FROM_THE_ANSWER is found', async () => {
  const {broken} = await check({...LATE, MUTANT: 'LEASE_FROM_THE_ANSWER'});
  expect(broken).toContain(ONE_SERVER);
});

nightly.describe('with wider bounds', () => {
  test.each<Bounds>([
    {WRITES: 2, EPOCHS: 3},
    {WRITES: 1, EPOCHS: 2, LATE_UPDATES: 1},
    {WRITES: 1, EPOCHS: 4},
    {WRITES: 2, EPOCHS: 3, LEASE: 2},
    {WRITES: 1, EPOCHS: 3, LATE_UPDATES: 1},
  ])('%o', async bounds => expect(await check(bounds, 3000)).toEqual({broken: null}), 600_000);
});
