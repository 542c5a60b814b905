/** What pages tell people to run exists. */
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

test('each command that a page names is one of svc', () => {
  const reference = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
  const named = readdirSync(join(ROOT, 'dashboard'), {recursive: true, encoding: 'utf8'})
    .filter(name => name.endsWith('.tsx'))
    .flatMap(name => [
      ...readFileSync(join(ROOT, 'dashboard', name), 'utf8').matchAll(/<code>(?:npx )?(svc [a-z ]+?)(?: --|<)/g),
    ])
    .map(([, command]) => command!.trim());
  expect(named).toContain('svc deploy');
  expect(named.filter(command => !reference.includes(command))).toEqual([]);
});
