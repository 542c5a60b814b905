/** Decisions: each says its number, its status and what it concerns, and the index is made of them (`npx vitest run --project pure test/docs/decisions.test.ts -u`). */
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/decisions');
const HEAD = /^# (\d{4}): (.+)\n\n- Status: (accepted|superseded)([^\n]*)\n- Concerns: ([^\n]+)\n\n/;

const decisions = readdirSync(folder)
  .filter(name => /^\d{4}-/.test(name))
  .sort()
  .map(name => {
    const [, number, title, status, more, concerns] = HEAD.exec(readFileSync(join(folder, name), 'utf8')) ?? [];
    return {name, number, title, status: `${status}${more}`, concerns: concerns ?? ''};
  });

test('each begins with its number, its status and what it concerns', () => {
  const isHeaded = ({name, number}: (typeof decisions)[number]) => name.slice(0, 4) === number;
  expect(decisions.filter(decision => !isHeaded(decision))).toEqual([]);
});

test('what they concern exists', () => {
  const paths = decisions.flatMap(({concerns}) => [...concerns.matchAll(/`([^`]+)`/g)].map(([, path]) => path!));
  expect(paths.length).toBeGreaterThan(decisions.length);
  expect(paths.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('the index lists them', async () => {
  const rows = decisions.map(
    ({name, number, title, status, concerns}) => `| [${number}](${name}) | ${title} | ${status} | ${concerns} |`,
  );
  const index = [
    '# Decisions',
    '',
    'Choices that outlive a file: why it is so, and what was rejected. A test makes this list from the pages.',
    '',
    '| | decision | status | concerns |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
  await expect(index).toMatchFileSnapshot(join(folder, 'README.md'));
});
