/**
 * Generates the type declarations of the package's entry points: `dist/types/**` and one `.d.ts` next to each entry.
 * The compiler is a development dependency; without it (on a server installed without them) there are no declarations.
 */
import {execFileSync} from 'node:child_process';
import {globSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** @param entries with the folder in sdk/ of each @returns texts by path below `dist` */
export function declarations(root: string, entries: Readonly<Record<string, string>>): Map<string, string> {
  const texts = new Map<string, string>();
  const compiler = findCompiler(root);
  if (compiler === null) {
    process.stderr.write('typescript is not installed: dist/ gets no type declarations\n');
    return texts;
  }
  const directory = mkdtempSync(join(tmpdir(), 'svc-types-'));
  try {
    execFileSync(process.execPath, [compiler, '-p', join(root, 'sdk/tsconfig.json'), '--outDir', directory], {
      stdio: 'inherit',
    });
    for (const path of globSync('**/*.d.ts', {cwd: directory})) {
      texts.set(join('types', path), importingJs(readFileSync(join(directory, path), 'utf8')));
    }
  } finally {
    rmSync(directory, {recursive: true});
  }
  for (const [entry, folder] of Object.entries(entries)) {
    const up = '../'.repeat(entry.split('/').length);
    texts.set(`sdk/${entry}.d.ts`, `export * from '${up}types/sdk/${folder}/index.js';\n`);
  }
  return texts;
}

function findCompiler(root: string): string | null {
  try {
    return join(createRequire(join(root, 'package.json')).resolve('typescript/package.json'), '../bin/tsc');
  } catch {
    return null;
  }
}

/** The compiler keeps `./x.ts` in declarations, which some apps' settings reject. */
function importingJs(text: string): string {
  return text.replace(/((?:from|import\()\s*)(['"])(\.\.?\/[^'"]+)\.ts\2/g, '$1$2$3.js$2');
}
