/** What `svc init` writes for the package that the project depends on. */
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {ownPackage} from '../../cli/starter/own-package.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-own-'));
});
afterEach(() => rmSync(home, {recursive: true}));

/** As npx keeps it. */
function kept(resolved: string | undefined): string {
  const modules = join(home, '.npm/_npx/1a2b/node_modules');
  mkdirSync(join(modules, 'svc'), {recursive: true});
  const packages = {'node_modules/svc': {version: '0.1.0', resolved}};
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({packages}));
  return join(modules, 'svc/');
}

test('is where it lies, as seen from the project', () => {
  expect(ownPackage(join(home, 'svc/'), join(home, 'work/app'))).toBe('file:../../svc');
  expect(ownPackage(join(home, 'app/node_modules/svc/'), join(home, 'app'))).toBe('file:node_modules/svc');
});

test.each([
  ['a packed file', 'file:../../../work/svc-0.1.0.tgz', 'file:../svc-0.1.0.tgz'],
  ['a registry', 'https://registry.example/svc/-/svc-0.1.0.tgz', 'https://registry.example/svc/-/svc-0.1.0.tgz'],
  ['nobody says where', undefined, 'file:../../.npm/_npx/1a2b/node_modules/svc'],
])('kept by npx, which forgets it one day, it is where that got it from: %s', (_, resolved, expected) => {
  expect(ownPackage(kept(resolved), join(home, 'work/app'))).toBe(expected);
});
