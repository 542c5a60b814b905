import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {describe, expect, test} from 'vitest';
import * as limits from '../shared/limits.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)));
}

type Unit = [each: number, ...names: string[]];

/** How values are written, by the unit in the name of a limit. */
const UNITS: [name: RegExp, units: Unit[]][] = [
  [/_MB$/, [[1, 'MiB']]],
  [
    /_KIB$/,
    [
      [1, 'KiB'],
      [1024, 'MiB'],
    ],
  ],
  [
    /BYTES|CHARS/,
    [
      [1, 'bytes', 'characters'],
      [1024, 'KiB', 'Ki'],
      [1024 ** 2, 'MiB', 'Mi'],
      [1024 ** 3, 'GiB'],
    ],
  ],
  [
    /_MS(_|$)/,
    [
      [1, 'ms'],
      [1_000, 's', 'seconds'],
      [60_000, 'min', 'minutes'],
      [3_600_000, 'hour', 'hours'],
      [86_400_000, 'day', 'days'],
    ],
  ],
  [/SECONDS/, [[1, 's', 'second', 'seconds']]],
];

/** Texts that say this value. */
function valuesOf(name: string, value: number): string[] {
  const units = UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? [];
  const withUnit = units.flatMap(([each, ...names]) => names.map(unit => `${shown(value / each)} ${unit}`));
  return [shown(value), `${value * 100} %`, ...withUnit];
}

function shown(value: number): string {
  return value.toLocaleString('en-US', {maximumFractionDigits: 6});
}

/** Whether the row has this value, and not as a part of another. */
function hasValue(row: string, text: string): boolean {
  return new RegExp(`(?<![\\d,.])${text.replaceAll('.', '\\.')}(?![\\d\\w]|[,.]\\d)`).test(row);
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

  test('every limit is described in docs/limits.md, with its value', () => {
    const rows = readFileSync(join(root, 'docs/limits.md'), 'utf8')
      .split('\n')
      .filter(line => line.startsWith('|'));
    const known = Object.entries(limits);
    expect(known.length).toBeGreaterThan(30);
    const isShown = ([name, value]: [string, number]) =>
      rows.some(row => row.includes(`\`${name}\``) && valuesOf(name, value).some(text => hasValue(row, text)));
    expect(known.filter(limit => !isShown(limit))).toEqual([]);
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
