/**
 * What pages show as files, as the project that a reader would have: with svc installed, to be type-checked and run. A block of
 * TypeScript is a file when its first line names its path; blocks of one path follow each other in it.
 */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Of scripts that Node or a page runs as they are; without the types of either. */
export const SCRIPT_OPTIONS = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom'],
  types: [],
};

/** For examples that read variables of the environment, without Node's types. */
export const PROCESS_TYPES = 'declare const process: {readonly env: Readonly<Record<string, string | undefined>>};\n';

/** The compiler's settings in a project that `svc init` made. */
export function templateSettings(template: 'functions' | 'react'): {compilerOptions: {types: string[]}} {
  const text = readFileSync(join(root, 'examples/starter', template, 'tsconfig.json'), 'utf8');
  return JSON.parse(text) as {compilerOptions: {types: string[]}};
}

export function pageText(page: string): string {
  return readFileSync(join(root, 'docs', page), 'utf8');
}

export class DocsProject {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  /** The paths of the files that the pages show. */
  readonly paths: readonly string[];

  /**
   * @param pages in docs/, each of whose blocks of TypeScript is a file
   * @param settings of the compiler: tsconfig.json
   * @param packages of ours that are installed as well
   */
  constructor(pages: readonly string[], settings: object, packages: readonly string[] = []) {
    const files = new Map<string, string>();
    for (const [, text] of pages
      .map(pageText)
      .join('\n')
      .matchAll(/^```tsx?\n([\s\S]*?)^```$/gm)) {
      const [, path, source] = /^\/\/ (\S+)\n([\s\S]*)$/.exec(text!) ?? [];
      if (path === undefined) throw new Error(`an example of ${pages.join()} does not say which file it is: ${text}`);
      files.set(path, `${files.get(path) ?? ''}${source}\n`);
    }
    this.paths = [...files.keys()];
    for (const [path, source] of files) this.write(path, source);
    this.write('tsconfig.json', JSON.stringify(settings));
    mkdirSync(join(this.directory, 'node_modules'));
    symlinkSync(root, join(this.directory, 'node_modules/svc'));
    for (const name of packages) {
      symlinkSync(join(root, 'node_modules', name), join(this.directory, 'node_modules', name));
    }
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.directory, path)), {recursive: true});
    writeFileSync(join(this.directory, path), text);
  }

  /** What the compiler says; empty: nothing. */
  async typeErrors(): Promise<string> {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const checked = run(process.execPath, [compiler, '--noEmit', '-p', '.'], {cwd: this.directory});
    const failed = ({stdout, message}: {stdout: string; message: string}) => ({stdout: stdout || message});
    return (await checked.catch(failed)).stdout;
  }

  /** The lines that a script prints, run as Node runs TypeScript. */
  async script(path: string, env: NodeJS.ProcessEnv): Promise<string[]> {
    const {stdout} = await run(process.execPath, ['--experimental-strip-types', '--no-warnings', path], {
      cwd: this.directory,
      env,
    });
    return stdout.replace(/\n$/, '').split('\n');
  }

  remove(): void {
    rmSync(this.directory, {recursive: true});
  }
}
