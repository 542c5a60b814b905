/**
 * Reads a project: a directory with an app's code in `svc/`, and the commands' settings in `svc.json`. The file and
 * each of its keys are optional. An unknown key is refused as a typing mistake.
 */
import {readFile, realpath} from 'node:fs/promises';
import {join, normalize, resolve, sep} from 'node:path';
import {isNodeVersion, NODE_VERSION_DEFAULT, NODE_VERSIONS, type NodeVersion} from '../../shared/node-version.ts';
import {projectFailure} from './project-failure.ts';

export type Project = {
  /** Absolute. */
  root: string;
  /** The directory of the app's functions: relative to the root, without a trailing slash. */
  functions: string;
  tenant: string | null;
  url: string | null;
  node: NodeSettings;
};

export type NodeSettings = {
  nodeVersion: NodeVersion;
  /** Packages that are not bundled into modules of the Node runtime; `['*']`: no package is bundled. */
  externalPackages: string[];
};

export const PROJECT_FILE = 'svc.json';
const FUNCTIONS_DEFAULT = 'svc';

type Json = Record<string, unknown>;

export async function readProject(directory: string): Promise<Project> {
  const root = await realpath(directory).catch(() => resolve(directory)); // Reading reports a missing one.
  const json = await readProjectFile(root);
  refuseOtherKeys(json, ['functions', 'tenant', 'url', 'node', '$schema'], '');
  return {
    root,
    functions: functionsDirectory(json),
    tenant: text(json, 'tenant'),
    url: text(json, 'url'),
    node: nodeSettings(json.node),
  };
}

/** The directory of the app's functions, absolute. */
export function functionsRoot(project: Project): string {
  return join(project.root, project.functions);
}

async function readProjectFile(root: string): Promise<Json> {
  let content: string;
  try {
    content = await readFile(join(root, PROJECT_FILE), 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw projectFailure(`cannot be read: ${(caught as Error).message}`, PROJECT_FILE);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (caught) {
    throw projectFailure(`is not JSON: ${(caught as Error).message}`, PROJECT_FILE);
  }
  return object(parsed, 'the file');
}

function functionsDirectory(json: Json): string {
  const given = text(json, 'functions') ?? FUNCTIONS_DEFAULT;
  const directory = normalize(given).replace(/[\\/]+$/, '');
  const isBelow =
    directory !== '.' && directory !== '' && !directory.startsWith('..') && resolve(directory) !== directory;
  if (!isBelow) throw wrong('"functions" must be a directory inside the project, like "svc/"', given);
  return directory.split(sep).join('/');
}

function nodeSettings(given: unknown): NodeSettings {
  const json = given === undefined ? {} : object(given, '"node"');
  refuseOtherKeys(json, ['nodeVersion', 'externalPackages'], 'node.');
  const nodeVersion = text(json, 'nodeVersion', 'node.') ?? NODE_VERSION_DEFAULT;
  if (!isNodeVersion(nodeVersion)) {
    throw wrong(`"node.nodeVersion" must be one of ${NODE_VERSIONS.map(quoted).join(', ')}`, nodeVersion);
  }
  return {nodeVersion, externalPackages: externalPackages(json.externalPackages)};
}

function externalPackages(given: unknown): string[] {
  if (given === undefined) return [];
  const isList = Array.isArray(given) && given.every(name => typeof name === 'string' && name !== '');
  if (!isList) throw wrong('"node.externalPackages" must be a list of package names, or ["*"]', given);
  if (given.includes('*') && given.length > 1) {
    throw wrong('"node.externalPackages" with "*" must be ["*"] alone: it means every package', given);
  }
  return given as string[];
}

function object(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw wrong(`${what} must be an object`, value);
}

function text(json: Json, key: string, above = ''): string | null {
  const value = json[key];
  if (value === undefined) return null;
  if (typeof value === 'string' && value !== '') return value;
  throw wrong(`"${above}${key}" must be a string`, value);
}

function refuseOtherKeys(json: Json, known: string[], above: string): void {
  const other = Object.keys(json).find(key => !known.includes(key));
  if (other === undefined) return;
  const keys = known.filter(key => key !== '$schema').map(quoted);
  throw projectFailure(`there is no key "${above}${other}"; the keys are ${keys.join(', ')}`, PROJECT_FILE);
}

function wrong(rule: string, given: unknown): Error {
  return projectFailure(`${rule}, not ${JSON.stringify(given)}`, PROJECT_FILE);
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
