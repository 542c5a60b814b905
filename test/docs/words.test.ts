/** Words of a dialect that must not come back into the pages: CONTRIBUTING.md says what to write instead. */
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '../..');
const WORDS =
  /\b(?:whoever|nobody|somebody|anybody|anew|(?:is|are|was|were|be|been|being) told|told of|in the place of|comes of|comes? to be|kept results?|owed|pieces?|stretch(?:es)?|rehears\w+|lifelines?|vouchers?|askers?)\b/i;

/** A record of its time, two tables that are made from the comments of the sources, and the list of old words. */
const LEFT = new Set([
  'CHANGELOG.md',
  'docs/limits.md',
  'docs/file-map.md',
  'docs/decisions/0070-names-in-standard-terms.md',
]);

const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], {
  cwd: root,
  exclude: name => name === 'node_modules',
})
  .filter(page => !LEFT.has(page))
  .sort();

test.each(pages)('%s is in plain words', page => {
  const found = readFileSync(join(root, page), 'utf8')
    .split('\n')
    .flatMap((line, i) => {
      const word = WORDS.exec(line.replace(/`[^`]*`/g, ''))?.[0];
      return word === undefined ? [] : [`${page}:${i + 1} ${word}`];
    });
  expect(found).toEqual([]);
});
