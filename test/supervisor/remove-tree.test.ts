import {mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {removeTree} from '../../supervisor/tenant-files.ts';

test('what is deeper than a path may be long is removed, and nothing that its links point to', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-'));
  onTestFinished(() => rmSync(root, {recursive: true}));
  const outside = join(root, 'outside');
  const tenants = join(root, 'tenants');
  for (const path of [outside, tenants]) mkdirSync(path);
  writeFileSync(join(outside, 'kept'), '');
  // From the inside out: each directory is put into the next one.
  const name = 'n'.repeat(200);
  let inner = join(root, 'inner');
  mkdirSync(inner);
  writeFileSync(join(inner, 'large'), 'x'.repeat(10_000));
  symlinkSync(outside, join(inner, 'link'));
  for (let depth = 0; depth < 40; depth++) {
    const outer = join(root, `outer${depth}`);
    mkdirSync(outer);
    writeFileSync(join(outer, 'file'), '');
    renameSync(inner, join(outer, name));
    inner = outer;
  }
  renameSync(inner, join(tenants, 'deep'));
  await removeTree(join(tenants, 'deep'));
  expect(readdirSync(tenants)).toEqual([]);
  expect(readdirSync(outside)).toEqual(['kept']);
});
