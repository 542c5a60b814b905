/**
 * docs/file-map.md: every source file with the first sentence of its own comment. `npx vitest run --project pure test/docs/file-map.test.ts -u`
 * makes it again.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '../..');
const ROOMS = [
  'shared',
  'engine',
  'copies',
  'cluster',
  'worker',
  'supervisor',
  'router',
  'egress',
  'sdk',
  'cli',
  'build',
  'dashboard',
];

type Source = {path: string; says: string};

/** Of all files below a folder, sorted. */
function sources(folder: string): Source[] {
  return readdirSync(join(root, folder), {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .sort()
    .map(path => ({path, says: firstSentence(readFileSync(join(root, path), 'utf8'))}));
}

/** Of the first comment. */
function firstSentence(source: string): string {
  const text = /\/\*\*(.*?)\*\//s.exec(source)?.[1] ?? '';
  const plain = text
    .replace(/^\s*\* ?/gm, '')
    .split(/\n\s*\n/)
    .find(paragraph => paragraph.trim() !== '');
  const line = (plain ?? '').replace(/\s+/g, ' ').trim();
  return (/^.*?[.:;](?= |$)/.exec(line)?.[0] ?? line)
    .replace(/[:;]$/, '.')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;');
}

/** With a table for each folder that has files. */
function page(): string {
  const lines = ROOMS.flatMap(room => {
    const byFolder = Map.groupBy(sources(room), ({path}) => path.slice(0, path.lastIndexOf('/')));
    const tables = [...byFolder].map(([folder, files]) => [
      ...(folder === room ? [] : ['', `### ${folder}`]),
      '',
      '| file | what |',
      '|---|---|',
      ...files.map(({path, says}) => `| \`${path.slice(folder.length + 1)}\` | ${says} |`),
    ]);
    return ['', `## ${room}`, ...tables.flat()];
  });
  return [
    '# File map',
    '',
    'Every source file with the first sentence of its own comment. A test makes this page. [Architecture](architecture.md) says how the parts fit.',
    '',
    `**On this page:** ${ROOMS.map(room => `[${room}](#${room})`).join(' · ')}`,
    ...lines,
    '',
  ].join('\n');
}

test('every file says what it is', () => {
  const silent = ROOMS.flatMap(sources).filter(({says}) => says === '');
  expect(silent.map(({path}) => path)).toEqual([]);
});

test('the map of files is up to date', async () => {
  await expect(page()).toMatchFileSnapshot(join(root, 'docs/file-map.md'));
});
