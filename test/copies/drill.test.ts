/** `svc backup drill`: restores tenants from their repository, and names what is wrong with it. */
import {readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Proof} from '../../copies/drill/proof.ts';
import {randomOnes} from '../../shared/random-ones.ts';
import {svc} from '../harness/command.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {type CopiedPoint, CopiedTenant, type TestRepository, testRepository} from './copied-tenant.ts';

const service = await sharedService();
let repository: TestRepository;
let sound: Tenant;
let other: Tenant;
let newest: CopiedPoint;
/** In the order in which they were stored: of `sound`, base and two sets; of `other`, a base and a set. */
let packs: string[];

beforeAll(async () => {
  repository = await testRepository();
  [sound, other] = [await Tenant.make(service), await Tenant.make(service)];
  await copied(sound, 2);
  newest = await copied(other, 1);
  packs = readdirSync(join(repository.path, 'packs')).sort().reverse();
});
afterAll(() => repository.remove());

async function copied(tenant: Tenant, points: number): Promise<CopiedPoint> {
  await tenant.insert('t', {n: 0});
  const copies = await CopiedTenant.begin(service, tenant.id, repository);
  let point: CopiedPoint;
  for (let n = 1; n <= points; n++) {
    await tenant.insert('t', {n});
    point = await copies.point();
  }
  copies.close();
  return point!;
}

async function drill(...args: string[]): Promise<{code: number | null; proofs: Proof[]; stderr: string}> {
  const {code, stdout, stderr} = await svc(['backup', 'drill', ...repository.options, '--json', ...args]);
  const lines = stdout.split('\n').slice(0, -1);
  return {code, stderr, proofs: lines.map(line => JSON.parse(line) as Proof)};
}

/** Runs it while the repository is changed. */
async function damaged<T>(change: (pack: string) => void, pack: string, run: () => Promise<T>): Promise<T> {
  const path = join(repository.path, 'packs', pack);
  const before = readFileSync(path);
  change(path);
  try {
    return await run();
  } finally {
    writeFileSync(path, before);
  }
}

function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[100]! ^= 1;
  writeFileSync(path, bytes);
}

test('all tenants are restored and checked, and the proof is in the repository', async () => {
  const {code, proofs, stderr} = await drill();
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  expect(proofs.map(({tenant}) => tenant).sort()).toEqual([sound.id, other.id].sort());
  const proof = proofs.find(({tenant}) => tenant === other.id)!;
  expect(proof).toMatchObject({
    passed: true,
    point: {commit: newest.commit, sequence: newest.sequence, time_ms: newest.timeMs},
    documents: 2,
    records: newest.sequence,
    functions: 'not_started',
  });
  expect(proof.checks.map(({check}) => check)).toEqual(['objects', 'restore', 'pages', 'identity', 'head', 'content']);
  expect(await repository.writer.repository.newestProof(other.id)).toEqual(proof);
});

test('a person reads what was proven, and that no function was started', async () => {
  const {stdout, code} = await svc(['backup', 'drill', ...repository.options, '--tenant', other.id]);
  expect(code).toBe(0);
  expect(stdout).toContain(`${other.id}: passed: commit ${newest.commit}`);
  expect(stdout).toContain('2 documents');
  expect(stdout).toContain('functions were not started');
  expect(stdout).toContain('1 tenant drilled: all passed');
});

test('a damaged page set fails its tenant and names the object, the other passes: exit code 3', async () => {
  const pack = packs[1]!;
  const {code, proofs} = await damaged(flip, pack, () => drill());
  expect(code).toBe(3);
  const failed = proofs.find(({tenant}) => tenant === sound.id)!;
  expect(failed.passed).toBe(false);
  expect(failed.checks.at(-1)).toMatchObject({check: 'restore', objects: [`packs/${pack}`]});
  expect(failed.checks.at(-1)!.findings.join()).toContain(pack);
  expect(proofs.find(({tenant}) => tenant === other.id)!.passed).toBe(true);
  expect(await repository.writer.repository.newestProof(sound.id)).toEqual(failed);
});

test('a pack that is gone is named, and an older state that restores is no success', async () => {
  await repository.writer.writeManifest(other.id);
  for (const pack of packs.slice(-2)) {
    const {code, proofs} = await damaged(rmSync, pack, () => drill('--tenant', other.id));
    expect({code, passed: proofs[0]!.passed}).toEqual({code: 1, passed: false});
    expect(proofs[0]!.checks.flatMap(({objects}) => objects)).toContain(`packs/${pack}`);
  }
});

test('what cannot be drilled is said in a sentence', async () => {
  expect(await drill('--tenant', 'absent')).toMatchObject({code: 1, stderr: expect.stringContaining('absent')});
  expect(await drill('--tenants', '0')).toMatchObject({code: 2});
});

test('tenants at random are different ones, and no more than there are', () => {
  const all = [1, 2, 3, 4, 5];
  expect(new Set(randomOnes(all, 3)).size).toBe(3);
  expect(randomOnes(all, 9).sort()).toEqual(all);
});
