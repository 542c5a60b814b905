/** The files that `svc init` writes: the projects of examples/starter, which the build turns into `dist/starter`. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

/** The tenant, package and title in the templates. */
const NAME = 'my-app';

/**
 * @param directory of this package
 * @returns texts by path
 */
export function templateFiles(directory: string, template: string): Record<string, string> {
  const text = readFileSync(join(directory, 'dist/starter', `${template}.json`), 'utf8');
  return JSON.parse(text) as Record<string, string>;
}

/**
 * @param name of the new project
 * @param svc the reference to this package in the project's package.json
 */
export function projectFiles(template: Record<string, string>, name: string, svc: string): Record<string, string> {
  const files = Object.entries(template).map(([path, text]) => [path, text.replaceAll(NAME, name)] as const);
  return {...Object.fromEntries(files), 'package.json': withReference(template['package.json']!, name, svc)};
}

function withReference(text: string, name: string, svc: string): string {
  const manifest = JSON.parse(text) as {dependencies: Record<string, string>};
  manifest.dependencies.svc = svc;
  return manifestText({...manifest, name});
}

/** As npm formats a package.json. */
export function manifestText(manifest: object): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
