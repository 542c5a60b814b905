import {mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {removeTree} from '../../supervisor/tenant-files.ts';
import {makeDeepTree} from '../harness/deep-tree.ts';

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
  await removeTree(join(tenants, 'deep'));
  expect(readdirSync(tenants)).toEqual([]);
  expect(readdirSync(outside)).toEqual(['kept']);
});
