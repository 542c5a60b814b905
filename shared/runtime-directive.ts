/**
 * Where a module wants to run: a directive (`"use node"`) at the top of its file says so; without one it runs in the default
 * runtime. A module for a runtime that this server does not have is refused when it is deployed, never run somewhere else.
 */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Problem} from './project-failure.ts';

export type Runtime = 'default' | 'node' | 'bun';

/** What may stand before a directive: blanks, comments, other directives. */
const PROLOGUE = /^(?:\s+|\/\/.*|\/\*[\s\S]*?\*\/|;|(['"])(?!use (?:node|bun)\1)[^'"\n]*\1)*/;
const DIRECTIVE = /^(['"])use (node|bun)\1/;

export function runtimeOf(source: string): {runtime: Runtime; line: number} {
  const text = source.replace(/^\uFEFF?(?:#!.*)?/, '');
  const [before] = PROLOGUE.exec(text)!;
  const directive = DIRECTIVE.exec(text.slice(before.length));
  const runtime = directive === null ? 'default' : (directive[2] as Runtime);
  return {runtime, line: before.split('\n').length};
}

/** @param files relative to the project */
export async function problemsOfRuntimes(root: string, files: Iterable<string>): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const file of files) {
    const {runtime, line} = runtimeOf(await readFile(join(root, file), 'utf8'));
    if (runtime !== 'default') problems.push({file, line, message: MISSING_RUNTIME[runtime]});
  }
  return problems;
}

const MISSING_RUNTIME = {
  node: '"use node": this version of svc has no Node runtime yet; only the default runtime is there',
  bun: '"use bun": this server has no Bun runtime adapter',
};
