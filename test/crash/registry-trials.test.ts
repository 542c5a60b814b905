/**
 * Damage at random to registry and files: whatever it hits, no tenant is deleted, none that was deleted is served again, and
 * no answer with 200 is wrong. SVC_SEED repeats a trial.
 */
import {mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, onTestFailed, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {copyOf, directoryIn, startOrRefusal} from '../harness/data-directory.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const {SVC_SEED} = process.env;
const TRIALS = SVC_SEED === undefined ? rounds({commit: 1, nightly: 8}) : 1;
const SEED = Number(SVC_SEED ?? Date.now() % 2 ** 31);
const IDS = ['acme', 'beta', 'Gamma', 'delta'];
const TRIAL_MS = 60_000;

let directory: string;
let stopped: string;
let killed: string;
let copies = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-trials-'));
  const service = await Service.start({data: join(directory, 'data')});
  const create = async (id: string) => {
    expect((await service.post('/api/tenants', {id})).status).toBe(201);
    await Tenant.of(service, id).insert('t', {of: id});
  };
  for (const id of ['gone', ...IDS]) await create(id);
  expect((await service.request('DELETE', '/api/tenants/gone')).status).toBe(204);
  await service.killAll();
  killed = copyOf(service.data, join(directory, 'killed'));
  await service.run();
  for (const id of IDS) await Tenant.of(service, id).list('t');
  await service.stop();
  stopped = service.data;
});
afterAll(() => rmSync(directory, {recursive: true}));

type Random = (below: number) => number;

function randomFrom(seed: number): Random {
  const random = seededRandom(seed);
  return below => Math.floor(random() * below);
}

function flipBit(path: string, random: Random): void {
  const bytes = readFileSync(path);
  bytes[random(bytes.length)]! ^= 1 << random(8);
  writeFileSync(path, bytes);
}

function fileOf(data: string, id: string): string {
  return join(
    directoryIn(
      data,
      id.replace(/[A-Z]/g, char => `=${char.toLowerCase()}`),
    )!,
    'tenant.sqlite',
  );
}

/** Every tenant answers with what it holds, or with an error that says so; the deleted one never with 200. */
async function expectNoWrongAnswer(service: Service): Promise<number> {
  let right = 0;
  for (const id of IDS) {
    const reply = await service.get(`/api/tenants/${id}/documents/t`);
    if (reply.status === 200) expect(reply.body).toMatchObject({data: [{of: id}]});
    else expect(reply.text).toContain('"op.storage_damaged"');
    if (reply.status === 200) right++;
  }
  expect((await service.get('/api/tenants/gone/documents/t')).status).not.toBe(200);
  return right;
}

/** Starts on what is left, with `svc recover --adopt` when it must. @returns how many tenants are served */
async function outcomeOf(data: string, isKept: (id: string) => boolean): Promise<number> {
  let started = await startOrRefusal(data);
  if (typeof started === 'string') {
    expect(started).toContain('svc recover');
    const adopted = await svc(['recover', '--data', data, '--adopt']);
    expect(adopted).toMatchObject({code: 0, stderr: ''});
    started = await startOrRefusal(data);
    if (typeof started === 'string') throw new Error(started);
  }
  const right = await expectNoWrongAnswer(started);
  await started.stop();
  for (const id of IDS.filter(isKept)) expect(statSync(fileOf(data, id)).size).toBeGreaterThan(0);
  return right;
}

describe.each(Array.from({length: TRIALS}, (_, i) => SEED + i))('seed %i', seed => {
  const trial = async (from: string, damage: (data: string, random: Random) => string[]): Promise<void> => {
    onTestFailed(() => {
      process.stderr.write(`SVC_SEED=${seed}\n`);
    });
    const data = copyOf(from, join(directory, `copy-${++copies}`));
    const lost = damage(data, randomFrom(seed));
    expect(await outcomeOf(data, id => !lost.includes(id))).toBe(IDS.length - lost.length);
    rmSync(data, {recursive: true});
  };

  test(
    'a bit of the registry',
    () =>
      trial(stopped, (data, random) => {
        flipBit(join(data, 'registry.sqlite'), random);
        return [];
      }),
    TRIAL_MS,
  );

  nightly.test(
    "a bit of the registry's log",
    () =>
      trial(killed, (data, random) => {
        flipBit(join(data, 'registry.sqlite-wal'), random);
        return [];
      }),
    TRIAL_MS,
  );

  nightly.test(
    'the registry, its log, or the end of one of them',
    () =>
      trial(isKilled(seed) ? killed : stopped, (data, random) => {
        const path = join(data, `registry.sqlite${isKilled(seed) && random(2) === 0 ? '-wal' : ''}`);
        if (random(2) === 0) rmSync(path);
        else truncateSync(path, random(statSync(path).size));
        return [];
      }),
    TRIAL_MS,
  );

  test(
    'the file of a tenant, or its directory',
    () =>
      trial(stopped, (data, random) => {
        const id = IDS[random(IDS.length)]!;
        const path = fileOf(data, id);
        if (random(3) === 0) rmSync(join(path, '..'), {recursive: true});
        else if (random(2) === 0) rmSync(path);
        else truncateSync(path, 0);
        return [id];
      }),
    TRIAL_MS,
  );
});

function isKilled(seed: number): boolean {
  return randomFrom(seed + 1)(2) === 0;
}
