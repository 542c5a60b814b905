/** Finds the runtime of each module of a project, and reports modules that have none, with the line at fault. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {isDefaultOnly, NO_BUN, NOT_FOR_NODE, type Runtime, runtimeOf} from '../../shared/runtime-directive.ts';
import type {SourceModule} from './modules.ts';
import {type Problem, ProjectFailure} from './project-failure.ts';

/** By the file of each module. @throws ProjectFailure */
export async function runtimesOf(
  root: string,
  modules: readonly SourceModule[],
): Promise<ReadonlyMap<string, Runtime>> {
  const runtimes = new Map<string, Runtime>();
  const problems: Problem[] = [];
  for (const {path, file} of modules) {
    const {runtime, line} = await directiveOf(root, file);
    runtimes.set(file, runtime);
    if (runtime === 'bun') problems.push({file, line, message: NO_BUN});
    else if (runtime === 'node' && isDefaultOnly(path)) problems.push({file, line, message: NOT_FOR_NODE});
  }
  if (problems.length > 0) throw new ProjectFailure(problems);
  return runtimes;
}

/** Files that modules of this runtime import but that are for another one. @param files relative to the project */
export async function strangersAmong(
  root: string,
  files: Iterable<string>,
  importers: 'default' | 'node',
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const file of files) {
    const {runtime, line} = await directiveOf(root, file);
    if (runtime === 'bun') problems.push({file, line, message: NO_BUN});
    else if (runtime === 'node' && importers === 'default') problems.push({file, line, message: IMPORTED});
  }
  return problems;
}

const IMPORTED =
  '"use node": a module of the default runtime imports this file; import it from modules with "use node" alone, and call their actions';

async function directiveOf(root: string, file: string): Promise<{runtime: Runtime; line: number}> {
  return runtimeOf(await readFile(join(root, file), 'utf8'));
}
