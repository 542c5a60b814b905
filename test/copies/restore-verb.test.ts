/** `svc restore` without a data directory: points, a check, and a table as it was. */
import {mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {type CopiedPoint, CopiedTenant, type TestRepository, testRepository} from './copied-tenant.ts';

const service = await sharedService();
let repository: TestRepository;
let tenant: Tenant;
const points: CopiedPoint[] = [];

beforeAll(async () => {
  repository = await testRepository();
  tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 0});
  const copied = await CopiedTenant.begin(service, tenant.id, repository);
  for (const n of [1, 2, 3]) {
    await tenant.insert('t', {n});
    points.push(await copied.point());
  }
  copied.close();
});
afterAll(() => repository.remove());

// Of its own, because other tests restore at the same time.
const scratch = mkdtempSync(join(tmpdir(), 'svc-test-scratch-'));
afterAll(() => rmSync(scratch, {recursive: true}));
const restore = (...args: string[]) => svc(['restore', tenant.id, ...repository.options, ...args], {TMPDIR: scratch});

async function table(...args: string[]): Promise<unknown[]> {
  const {stdout, stderr, code} = await restore('--table', 't', ...args);
  expect({stderr, code}).toEqual({stderr: '', code: 0});
  return stdout
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as {n: number}).n);
}

test('--table prints it as it was at a sequence, at a time, and at the newest point', async () => {
  const [first, second] = points;
  expect(await table()).toEqual([0, 1, 2, 3]);
  expect(await table('--to-sequence', String(second!.sequence))).toEqual([0, 1, 2]);
  expect(await table('--to-time', String(first!.timeMs))).toEqual([0, 1]);
  expect(await table('--to-time', new Date(points[2]!.timeMs - 1).toISOString())).toEqual([0, 1, 2]);
  expect(readdirSync(scratch)).toEqual([]);
});

test('--list shows the points, and --dry-run says which one is meant and which is next', async () => {
  const listed = (await restore('--list', '--json')).stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(listed.map(({sequence, commit}) => [sequence, commit]).slice(1)).toEqual(
    points.map(({sequence, commit}) => [sequence, commit]),
  );
  expect((await restore('--list')).stdout).toContain(`sequence ${points[0]!.sequence}  commit ${points[0]!.commit}`);
  const {stdout} = await restore('--dry-run', '--to-sequence', String(points[1]!.sequence));
  expect(stdout).toContain(`${tenant.id} at commit ${points[1]!.commit}, sequence ${points[1]!.sequence}`);
  expect(stdout).toContain(`the next point is commit ${points[2]!.commit}`);
});

test('what cannot be restored is named, with an exit code of its own', async () => {
  expect(await restore('--to-sequence', '0')).toMatchObject({code: 1, stderr: expect.stringContaining('sequence 0')});
  const other = join(repository.path, '../other');
  writeFileSync(other, `${'A'.repeat(43)}\n`);
  expect(await svc(['restore', tenant.id, '--from', repository.path, '--key', other])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('the key is not that of the repository'),
  });
  expect(await svc(['restore', tenant.id, '--from', tmpdir(), '--key', other])).toMatchObject({code: 4});
  expect(await restore('--to-sequence', '1', '--to-time', '1m')).toMatchObject({code: 2});
  const pack = readdirSync(join(repository.path, 'packs')).sort().at(-1)!;
  const path = join(repository.path, 'packs', pack);
  const bytes = readFileSync(path);
  const changed = Buffer.from(bytes);
  changed[100]! ^= 1;
  writeFileSync(path, changed);
  expect(await restore('--dry-run')).toMatchObject({code: 1, stderr: expect.stringContaining(pack)});
  writeFileSync(path, bytes);
  expect(readdirSync(scratch)).toEqual([]);
});

test('an older state, because a pack is lost, is no success: exit code 3 with the pack and both commits', async () => {
  // Of the third point: the base, then one for each point.
  const lost = readdirSync(join(repository.path, 'packs')).sort().reverse()[2]!;
  const path = join(repository.path, 'packs', lost);
  renameSync(path, join(repository.path, '../lost'));
  const [first, , third] = points;
  const finding = new RegExp(`only commit ${first!.commit} .+ commit ${third!.commit} .+packs/${lost}`);
  for (const args of [['--dry-run'], ['--list'], ['--table', 't']]) {
    expect(await restore(...args)).toMatchObject({code: 3, stderr: expect.stringMatching(finding)});
  }
  const data = join(repository.path, '../older');
  expect(await svc(['restore', '--all', ...repository.options, '--data', data])).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('restored 1 tenant'),
    stderr: expect.stringMatching(finding),
  });
  expect(await svc(['backup', 'list', tenant.id, ...repository.options])).toMatchObject({code: 3});
  renameSync(join(repository.path, '../lost'), path);
  expect(await restore('--dry-run')).toMatchObject({code: 0});
});
