/** How the text of a source file is shown: its colours, and the line at which a function is. */
import {expect, test} from 'vitest';
import {fileOfFunction, lineOfFunction} from '../../dashboard/pages/deployments/definition.ts';
import {highlightedLines} from '../../dashboard/pages/deployments/highlight.ts';

const TEXT = `/* a
b */ const a = \`x
b\`; // const
export const list = query('const', 7);
ctx.delete(/"/);
export default a;`;

test('lines keep their text, and comments and strings go over lines', () => {
  const lines = highlightedLines(TEXT);
  expect(lines.map(parts => parts.map(({text}) => text).join('')).join('\n')).toBe(TEXT);
  const kinds = (line: number) => lines[line]!.map(({text, kind}) => `${kind} ${text}`);
  expect(kinds(1)).toEqual(['comment b */', 'plain  ', 'keyword const', 'plain  a = ', 'string `x']);
  expect(kinds(2)).toEqual(['string b`', 'plain ; ', 'comment // const']);
  expect(kinds(3)).toContain("string 'const'");
  expect(kinds(4)[0]).toBe('plain ctx.delete(/');
});

test('a function has the line of its export, in the source of its module', () => {
  expect(lineOfFunction(TEXT, 'm:list')).toBe(4);
  expect(lineOfFunction(TEXT, 'm:default')).toBe(6);
  expect(lineOfFunction(TEXT, 'm:none')).toBe(1);
  expect(lineOfFunction('var f = 1;\nexport {\n  f\n};', 'm:f')).toBe(1);
  const file = (path: string, kind: 'source' | 'bundle') => ({path, kind, bytes: 1, sha256: ''});
  const files = [
    file('svc/a/b.ts', 'source'),
    file('lib/b.ts', 'source'),
    file('a/b.js', 'bundle'),
    file('c.js', 'bundle'),
  ];
  expect(fileOfFunction(files, 'a/b:f')?.path).toBe('svc/a/b.ts');
  expect(fileOfFunction(files, 'c:f')?.path).toBe('c.js');
  expect(fileOfFunction(files, 'd:f')).toBeUndefined();
});
