/**
 * The TypeScript check of a project before a deploy, with the project's own compiler and settings: its result is the
 * same as in the editor.
 */
import {spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {CommandFailure} from '../failure.ts';
import {functionsRoot, type Project} from './project-file.ts';

export const TYPECHECK_MODES = ['enable', 'try', 'disable'] as const;
/** `try`: only if the project has a compiler and settings for it. */
export type TypecheckMode = (typeof TYPECHECK_MODES)[number];

/**
 * @returns why the check was skipped; null: it ran, without errors. @throws CommandFailure with the compiler's output
 */
export async function typecheck(project: Project, mode: TypecheckMode): Promise<string | null> {
  if (mode === 'disable') return 'it is disabled';
  const compiler = findCompiler(project);
  const settings = findSettings(project);
  const missing =
    compiler === null
      ? 'typescript is not installed in the project'
      : settings === null
        ? 'there is no tsconfig.json'
        : null;
  if (missing !== null) {
    if (mode === 'enable') throw new CommandFailure(`cannot check types: ${missing}`);
    return missing;
  }
  const {code, output} = await run(project, compiler!, settings!);
  if (code === 0) return null;
  throw new CommandFailure(`types do not fit; --typecheck=disable deploys all the same\n${output.trimEnd()}`);
}

function findCompiler({root}: Project): string | null {
  try {
    return join(createRequire(join(root, 'package.json')).resolve('typescript/package.json'), '../bin/tsc');
  } catch {
    return null;
  }
}

function findSettings(project: Project): string | null {
  const places = [functionsRoot(project), project.root].map(directory => join(directory, 'tsconfig.json'));
  return places.find(existsSync) ?? null;
}

function run({root}: Project, compiler: string, settings: string): Promise<{code: number | null; output: string}> {
  const child = spawn(
    process.execPath,
    [compiler, '--noEmit', '-p', settings, '--pretty', String(process.stderr.isTTY === true)],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', code => resolve({code, output}));
  });
}
