/** Code as files, of services that start at the same time and of others that go. */
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import type {NodePart} from '../../../shared/protocol/functions.ts';
import {CodeDirectories} from '../../../worker/runtime/node/code-directory.ts';
import {PackageStore} from '../../../worker/runtime/node/package-store.ts';

let tenant: string;
let directories: CodeDirectories;
beforeEach(() => {
  tenant = mkdtempSync(join(tmpdir(), 'svc-code-'));
  for (const name of ['node-child.js', 'node-call.js']) writeFileSync(join(tenant, name), name);
  directories = new CodeDirectories(tenant, 'services', new PackageStore(tenant), tenant);
});
afterEach(() => rmSync(tenant, {recursive: true}));

const PART: NodePart = {
  version: '22',
  files: Array.from({length: 20}, (_, n) => ({path: `workers/${n}.js`, sha256: `${n}`})),
};
const write = () => directories.write(PART, path => `// ${path}`);
const isWhole = (root: string) =>
  [...PART.files.map(({path}) => path), '.svc/node-child.js', 'package.json'].every(
    path => readFileSync(join(root, path), 'utf8') !== '',
  );

test('services of one deployment start at once: each finds its code', async () => {
  const roots = await Promise.all([write(), write(), write()]);
  expect(roots.map(isWhole)).toEqual([true, true, true]);
});

test('what comes back while it is being taken away is there afterwards', async () => {
  await write();
  let written: Promise<string> | null = null;
  await directories.forget(() => {
    written = write();
    return [];
  });
  expect(isWhole(await written!)).toBe(true);
});
