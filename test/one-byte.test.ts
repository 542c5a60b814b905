/** V8 keeps the text of each script that a process has loaded: in two bytes for each character if one is not ASCII. */
import {globSync, readFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {oneByte} from '../build/one-byte.ts';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));

test('each script that a process loads is ASCII', () => {
  const scripts = globSync('*.{js,cjs}', {cwd: DIST});
  expect(scripts.map(script => basename(script))).toContain('worker.js');
  const isAscii = (script: string): boolean => readFileSync(join(DIST, script)).every(byte => byte < 0x80);
  expect(scripts.filter(script => !isAscii(script))).toEqual([]);
});

test('comments lose what is not ASCII, lines and columns stay', async () => {
  const script = 'class A {\n  /* ── reads → writes 🙂 ── */\n  get() {} // “why”\n}\n';
  expect(await oneByte('a.js', script)).toBe('class A {\n  /* ?? reads ? writes ?? ?? */\n  get() {} // ?why?\n}\n');
});

test.each(['String.raw`→`', '/→/', '/→/u'])('code that esbuild cannot escape is refused: %s', async code => {
  await expect(oneByte('a.js', `f(${code});\n`)).rejects.toThrow('a.js has code that is not ASCII');
});
