import {Buffer} from 'node:buffer';
import {mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, watch, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {removeTree, TenantFiles} from '../../supervisor/files/tenant-files.ts';
import {makeDeepTree} from '../harness/deep-tree.ts';
import {until} from '../harness/until.ts';

test('what is deeper than a path may be long is removed, and nothing that its links point to', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => rmSync(root, {recursive: true}));
  const outside = join(root, 'outside');
  const tenants = join(root, 'tenants');
  for (const path of [outside, tenants]) mkdirSync(path);
  writeFileSync(join(outside, 'kept'), '');
  makeDeepTree(join(tenants, 'deep'), inner => {
    writeFileSync(join(inner, 'large'), 'x'.repeat(10_000));
    symlinkSync(outside, join(inner, 'link'));
  });
  const seen = new Set<string | null>();
  const watcher = watch(tenants, (_, name) => seen.add(name));
  onTestFinished(() => watcher.close());
  await removeTree(join(tenants, 'deep'));
  expect(readdirSync(tenants)).toEqual([]);
  writeFileSync(join(tenants, 'last'), '');
  await until('all that happened beside it', () => seen.has('last'));
  expect([...seen]).toEqual(['deep', 'last']);
  expect(readdirSync(outside)).toEqual(['kept']);
});

test('of a deleted tenant all is removed, under whatever names', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => rmSync(root, {recursive: true}));
  const marked = join(root, 'd_a_1');
  const noText = Buffer.from([0xff, 0xfe]);
  const within = (directory: Buffer | string) => Buffer.concat([Buffer.from(directory), Buffer.from('/'), noText]);
  mkdirSync(marked);
  mkdirSync(within(marked));
  writeFileSync(within(within(marked)), '');
  makeDeepTree(join(marked, 'deep'), inner => writeFileSync(within(inner), ''));
  const files = new TenantFiles(root);
  await files.emptyDeleted('a', 1);
  expect(readdirSync(marked)).toEqual([]);
  await files.removeMark('a', 1);
  expect(readdirSync(root)).toEqual([]);
});
