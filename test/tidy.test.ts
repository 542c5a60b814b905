import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {describe, expect, test} from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)));
}

/** Every folder with what it must not import: the processes share only `shared/`. */
const WALLS: [folder: string, forbidden: RegExp][] = [
  ['shared', /^(router|worker|cli|sdk|test|deploy|bench)\//],
  ['router', /^(worker|cli|sdk|test|deploy|bench)\//],
  ['worker', /^(router|cli|sdk|test|deploy|bench)\//],
];

describe('the house', () => {
  test.each(WALLS)('%s imports nothing it must not', (folder, forbidden) => {
    const breaches: string[] = [];
    for (const file of sources(folder)) {
      for (const [, target] of readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)'/g)) {
        const imported = relative(root, join(root, file, '..', target!));
        if (forbidden.test(imported)) breaches.push(`${file} imports ${imported}`);
      }
    }
    expect(breaches).toEqual([]);
  });

  test('every limit is described in docs/limits.md', () => {
    const documented = readFileSync(join(root, 'docs/limits.md'), 'utf8');
    const names = ['shared/limits.ts', 'shared/values/value-limits.ts'].flatMap(file =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^export const (\w+)/gm)].map(match => match[1]!),
    );
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter(name => !documented.includes(name))).toEqual([]);
  });

  // npm hands the project's settings to `npx -p node@22` too, whose package installs Node by a script.
  test('npm may run the install script that brings Node 22', () => {
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).not.toMatch(/ignore-scripts/);
  });

  // Its package.json says so, but `npm ci` looks at the lock file alone and would compile. `npm install` drops the line again.
  test('package-lock.json says that better-sqlite3 is not to be compiled', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    expect(lock.packages['node_modules/better-sqlite3']).toMatchObject({gypfile: false});
  });

  test('every path in docs/architecture.md exists', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const paths = [...page.matchAll(/`((?:router|worker|shared|cli|sdk|deploy|test)\/[\w./-]*)`/g)].map(
      match => match[1]!,
    );
    expect(paths.length).toBeGreaterThan(40);
    expect(paths.filter(path => !existsSync(join(root, path)))).toEqual([]);
  });
});
