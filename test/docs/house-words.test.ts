/**
 * Words of a dialect that must not come back into the sources: names, comments and messages use the field's terms.
 * docs/decisions/0070-names-in-standard-terms.md says what to write instead. In tests, benches and examples
 * some of the words are allowed.
 */
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '../..');
const ROOMS = [
  'build',
  'cli',
  'cluster',
  'copies',
  'dashboard',
  'egress',
  'engine',
  'router',
  'sdk',
  'shared',
  'supervisor',
  'worker',
];

/** In comments and messages. */
const PROSE =
  /\b(?:whoever|nobody|somebody|anybody|anew|(?:is|are|was|were|be|been|being) told|told of|in the place of|comes of|kept results?|owed bytes|stretch(?:es)?|last words|rehears\w+|lifelines?|vouchers?|nonsense|askers?)\b/i;

/** In benches and examples. */
const EXAMPLE_PROSE = /\b(?:whoever|nobody|somebody|anybody|(?:is|are|was|were|be|been|being) told|told of)\b/i;

/** In tests. */
const TEST_PROSE = /\b(?:whoever|somebody else|(?:is|are|was|were|be|been|being) told|told of)\b/i;

/** As a word of a name, such as `piece` in `pieceChars` and in `PIECE_CHARS`. */
const NAMES = new Set(
  `asked asker askers asking death deaths door doors gather gathered gathers gathering hearing hears lifeline nonsense nobody owed owes pace piece
   pieces posting postings rehearsal rehearse rehearsed residence stretch stretches told voucher vouchers walls whoever`.split(
    /\s+/,
  ),
);

/** Stored texts, names on the wire and in metrics. */
const ALLOWED = new Set([
  'engine/storage/tables.sql.ts nobody',
  'sdk/client/identity.ts nobody',
  'engine/reads/explain.ts stretches',
  'shared/protocol/queries.ts stretches',
]);

const files = globSync(
  ROOMS.map(room => `${room}/**/*.{ts,tsx,mjs,cjs}`),
  {cwd: root},
).sort();

/** Whole texts that name a state, a stored value or a file: 'nobody', 'rehearsal'. */
const QUOTED_WORD = /'[a-z]+'/g;
const COMMENTS_AND_TEXTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

const lines = (text: string) => text.split('\n');
const blank = (text: string) => text.replace(/[^\n]/g, ' ');

function wordsOf(name: string): string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map(word => word.toLowerCase());
}

function proseIn(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap(file =>
    lines(readFileSync(join(root, file), 'utf8').replace(QUOTED_WORD, blank)).flatMap((line, i) => {
      const word = pattern.exec(line)?.[0];
      return word === undefined || ALLOWED.has(`${file} ${word}`) ? [] : [`${file}:${i + 1} ${word}`];
    }),
  );
}

test('comments and messages are in plain words', () => {
  expect(proseIn(files, PROSE)).toEqual([]);
});

test.each([
  ['benches and examples', ['bench', 'examples'], EXAMPLE_PROSE],
  ['tests', ['test'], TEST_PROSE],
] as const)('%s name who gets what', (_, rooms, pattern) => {
  const exclude = ['**/node_modules/**', 'test/docs/*words.test.ts'];
  const found = globSync(
    rooms.map(room => `${room}/**/*.{ts,tsx}`),
    {cwd: root, exclude},
  );
  expect(proseIn(found, pattern)).toEqual([]);
});

test('names are in standard terms', () => {
  const found = files.flatMap(file =>
    lines(readFileSync(join(root, file), 'utf8').replace(COMMENTS_AND_TEXTS, blank)).flatMap((line, i) =>
      (line.match(/[A-Za-z_$][\w$]*/g) ?? [])
        .filter(name => !/^[a-z]+(?:_[a-z]+)+$/.test(name))
        .filter(name => wordsOf(name).some(word => NAMES.has(word)) && !ALLOWED.has(`${file} ${name}`))
        .map(name => `${file}:${i + 1} ${name}`),
    ),
  );
  expect(found).toEqual([]);
});

test('files are called in standard terms', () => {
  expect(files.filter(file => wordsOf(file).some(word => NAMES.has(word)))).toEqual([]);
});
