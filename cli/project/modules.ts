/**
 * Finds the files below `svc/` that are modules of the app, and the paths by which their functions are called. It
 * ignores everything else there (tests, declarations, hidden files, generated code), though modules can import it.
 */
import type {Dirent} from 'node:fs';
import {readdir, readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {PATH_COMPONENT_CHARS_MAX} from '../../shared/limits.ts';
import {type Problem, ProjectFailure, projectFailure} from './project-failure.ts';
import {functionsRoot, type Project} from './project-file.ts';

export type SourceModule = {
  /** Without extension: `a/b`. */
  path: string;
  /** Relative to the project: `svc/a/b.ts`. */
  file: string;
};

export type ProjectModules = {
  /** In code unit order of their paths; neither schema nor auth config. */
  functions: SourceModule[];
  schema: SourceModule | null;
  authConfig: SourceModule | null;
  /** Probable mistakes that do not stop the deploy. */
  warnings: Problem[];
};

export const GENERATED_DIRECTORY = '_generated';
const SHARED_CODE_DIRECTORY = '_deps';
const MODULE_FILE = /^([^.]+)\.([cm]?[jt]s|[jt]sx)$/;
const SCHEMA_FILE = /^schema\.[jt]s$/;
const AUTH_CONFIG_FILE = /^auth\.config\.[jt]s$/;
const COMPONENTS_FILE = /^svc\.config\.[jt]s$/;
/** A statement that makes a file a module, at the beginning of a line or after another statement. */
const IMPORT_OR_EXPORT = /(?:^|[;}]|\*\/)\s*(?:import|export)\b/m;

/** @throws ProjectFailure with everything that cannot be deployed under its name */
export async function findModules(project: Project): Promise<ProjectModules> {
  const files = await filesBelow(functionsRoot(project), '');
  if (files === null) {
    throw projectFailure(
      `there is no directory ${project.functions}/ in ${project.root}; svc init makes a new project`,
    );
  }
  files.sort();
  const problems: Problem[] = files.flatMap(name => problemsOfName(project, name));
  const modules = (await modulesAmong(project, files)).sort((one, other) => (one.path < other.path ? -1 : 1));
  const schemas = named(project, files, SCHEMA_FILE);
  const authConfigs = named(project, files, AUTH_CONFIG_FILE);
  for (const module of modules) problems.push(...problemsOfPath(module));
  problems.push(...problemsOfDoubles([...schemas, ...authConfigs, ...modules]));
  if (problems.length > 0) throw new ProjectFailure(problems);
  return {
    functions: modules,
    schema: schemas[0] ?? null,
    authConfig: authConfigs[0] ?? null,
    warnings: await misnamedRouters(project, modules),
  };
}

/** Relative paths of all candidates. Null: there is no such directory. */
async function filesBelow(root: string, below: string): Promise<string[] | null> {
  let entries: Dirent[];
  try {
    entries = await readdir(join(root, below), {withFileTypes: true});
  } catch (caught) {
    if (['ENOENT', 'ENOTDIR'].includes((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
  const files: string[] = [];
  for (const entry of entries) {
    const path = `${below}${entry.name}`;
    if (/^[.#]/.test(entry.name) || path === GENERATED_DIRECTORY || path.includes(' ')) continue;
    // A link to a directory is not followed: it can lead back here.
    const isFile = entry.isFile() || (entry.isSymbolicLink() && (await isLinkToFile(join(root, path))));
    if (isFile) files.push(path);
    else if (entry.isDirectory() && entry.name !== 'node_modules') {
      files.push(...((await filesBelow(root, `${path}/`)) ?? []));
    }
  }
  return files;
}

async function isLinkToFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false; // A dangling link.
  }
}

async function modulesAmong(project: Project, files: string[]): Promise<SourceModule[]> {
  const modules: SourceModule[] = [];
  for (const name of files) {
    const slash = name.lastIndexOf('/') + 1;
    const [, stem] = MODULE_FILE.exec(name.slice(slash)) ?? [];
    if (stem === undefined || SCHEMA_FILE.test(name)) continue;
    const file = `${project.functions}/${name}`;
    if (name.endsWith('.ts') && !IMPORT_OR_EXPORT.test(await readFile(join(project.root, file), 'utf8'))) continue;
    modules.push({path: name.slice(0, slash) + stem, file});
  }
  return modules;
}

function named(project: Project, files: string[], pattern: RegExp): SourceModule[] {
  return files
    .filter(name => pattern.test(name))
    .map(name => ({path: name.replace(/\.[jt]s$/, ''), file: `${project.functions}/${name}`}));
}

function problemsOfName(project: Project, name: string): Problem[] {
  const file = `${project.functions}/${name}`;
  if (COMPONENTS_FILE.test(name)) {
    return [{file, message: 'svc.config is not supported: there are no components to configure'}];
  }
  if (name.startsWith(`${SHARED_CODE_DIRECTORY}/`)) {
    return [
      {file, message: `the directory ${SHARED_CODE_DIRECTORY} is reserved for code that modules share; rename it`},
    ];
  }
  return [];
}

function problemsOfPath({path, file}: SourceModule): Problem[] {
  return path.split('/').flatMap(component => {
    const named = `${JSON.stringify(component)} in the module path ${JSON.stringify(path)}`;
    if (!/^[\w.]*$/.test(component)) {
      return {file, message: `${named} can only contain alphanumeric characters, underscores, or periods`};
    }
    if (!/[a-zA-Z0-9]/.test(component)) return {file, message: `${named} needs at least one alphanumeric character`};
    if (component.length <= PATH_COMPONENT_CHARS_MAX) return [];
    return {file, message: `${named} is longer than ${PATH_COMPONENT_CHARS_MAX} characters`};
  });
}

function problemsOfDoubles(modules: SourceModule[]): Problem[] {
  const firsts = new Map<string, string>();
  return modules.flatMap(({path, file}) => {
    const first = firsts.get(path);
    firsts.set(path, file);
    if (first === undefined) return [];
    return {file, message: `${first} and ${file} are both the module ${JSON.stringify(path)}; remove or rename one`};
  });
}

async function misnamedRouters({root}: Project, modules: SourceModule[]): Promise<Problem[]> {
  const module = modules.find(({path}) => path === 'https');
  if (module === undefined || !(await readFile(join(root, module.file), 'utf8')).includes('httpRouter')) return [];
  return [{file: module.file, message: 'routes are only read from http.ts: did you mean http instead of https?'}];
}
