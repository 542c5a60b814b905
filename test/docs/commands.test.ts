/** `svc` on npm is another project: no page may tell a reader to download or run it. */
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'deploy/**', 'cli/**/*.ts'], {
  cwd: root,
  exclude: path => path.endsWith('node_modules'),
}).filter(path => /\.(md|ts)$|deploy\/[^/]+\.[^/]+$/.test(path));
/** Downloads and runs the package of that name where no project has this one. */
const BY_NPX = /\bnpx(?: +-\S+)* +svc\b/;
const BY_NAME = /\bnpm +(?:install|i|add)(?: +-\S+)* +svc(?![\w/@.-])/;

/** What a project that `svc init` made, or that has this package by its path, says about itself. */
const IN_A_PROJECT = [
  ['examples/starter/functions/README.md', '`npx svc '],
  ['examples/starter/react/README.md', '`npx svc '],
  ['cli/init.ts', "'npm install && npx svc dev'"],
  ['docs/cli.md', 'so after `npm install`, `npx svc VERB` runs there'],
  ['docs/cli.md', '`npm install /path/to/svc`, then `npx svc VERB`'],
] as const;

test('no page runs or installs the package that is called svc on npm', () => {
  expect(PAGES.length).toBeGreaterThan(80);
  const found = PAGES.flatMap(path =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .filter(line => BY_NPX.test(line) || BY_NAME.test(line))
      .filter(line => !IN_A_PROJECT.some(([file, text]) => path === file && line.includes(text)))
      .map(line => `${path}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test('the package cannot be published by accident', () => {
  expect(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).toMatchObject({private: true});
});
