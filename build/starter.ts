/**
 * The templates of `svc init`, from examples/starter: one JSON file each with the texts by path. npm would drop a
 * `.gitignore` from the package, and JSON keeps it.
 */
import {globSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** `svc init` generates the first; the others are what using a template in place leaves behind. */
const LEFT_OUT = ['_generated', 'node_modules', 'dist', '.svc', 'package-lock.json'];

/** @returns contents by path in dist/ */
export function starterTemplates(root: string): [string, string][] {
  const folder = join(root, 'examples/starter');
  const templates = readdirSync(folder, {withFileTypes: true}).filter(entry => entry.isDirectory());
  return templates.map(({name}) => [`starter/${name}.json`, JSON.stringify(textsIn(join(folder, name)))]);
}

function textsIn(folder: string): Record<string, string> {
  const entries = globSync('**/{*,.gitignore}', {
    cwd: folder,
    withFileTypes: true,
    exclude: entry => LEFT_OUT.includes(entry.name),
  });
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.sort().map(path => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}
