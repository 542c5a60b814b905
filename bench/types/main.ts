/**
 * What the types of an app cost: `node --experimental-strip-types bench/types/main.ts [modules…]` writes projects of so many
 * modules (default 1 and 100), checks each with `tsc` against the built `dist/`, and prints the best of some rounds.
 */
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {makeProject} from './project.ts';

const ROUNDS = 5;

const root = fileURLToPath(new URL('../..', import.meta.url));
const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--module', 'esnext'];
const counts = process.argv.slice(2).map(Number);

for (const modules of counts.length === 0 ? [1, 100] : counts) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-types-'));
  for (const [path, source] of makeProject(modules)) {
    mkdirSync(dirname(join(folder, path)), {recursive: true});
    writeFileSync(join(folder, path), source);
  }
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/svc'));
  process.stdout.write(`${modules} modules: ${bestOfRounds(folder)} ms\n`);
  rmSync(folder, {recursive: true});
}

function bestOfRounds(folder: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    execFileSync(process.execPath, [compiler, ...options, '--moduleResolution', 'bundler', 'client.ts'], {
      cwd: folder,
      stdio: 'inherit',
    });
    best = Math.min(best, performance.now() - started);
  }
  return Math.round(best);
}
