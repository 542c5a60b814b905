/** Determines how a project's package.json refers to this package, which creates the project. */
import {existsSync, readFileSync} from 'node:fs';
import {join, relative, resolve} from 'node:path';

/**
 * @param directory of this package
 * @param root of the project
 * @returns for its package.json: the path of this package; or, if it is only in npx's temporary cache, where it came
 * from
 */
export function ownPackage(directory: string, root: string): string {
  return cachedByNpx(directory, root) ?? pathFrom(root, directory);
}

/** Null: it is not in npx's cache, or npm does not record where it came from. */
function cachedByNpx(directory: string, root: string): string | null {
  const modules = resolve(directory, '..');
  const lock = join(modules, '.package-lock.json');
  if (!modules.includes('/_npx/') || !existsSync(lock)) return null;
  const {packages} = JSON.parse(readFileSync(lock, 'utf8')) as {packages?: Record<string, {resolved?: unknown}>};
  const from = packages?.[relative(resolve(modules, '..'), resolve(directory))]?.resolved;
  if (typeof from !== 'string') return null;
  // npm writes the path relative to its cache folder.
  return from.startsWith('file:') ? pathFrom(root, resolve(modules, '..', from.slice('file:'.length))) : from;
}

function pathFrom(root: string, path: string): string {
  return `file:${relative(root, path)}`;
}
