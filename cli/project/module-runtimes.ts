/** Files of a project that are for a runtime which is not there: said with their own lines, before anything is bundled. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {MISSING_RUNTIME, runtimeOf} from '../../shared/runtime-directive.ts';
import type {Problem} from './project-failure.ts';

/** @param files relative to the project */
export async function problemsOfRuntimes(root: string, files: Iterable<string>): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const file of files) {
    const {runtime, line} = runtimeOf(await readFile(join(root, file), 'utf8'));
    if (runtime !== 'default') problems.push({file, line, message: MISSING_RUNTIME[runtime]});
  }
  return problems;
}
