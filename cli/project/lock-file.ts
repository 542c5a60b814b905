/**
 * Reads the packages of a project from npm's lock file (package-lock.json, version 2 and 3): each named one with all
 * its dependencies, their paths, exact versions and tarball digests. It never queries a registry.
 */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {UploadedPackage} from '../../shared/protocol/functions.ts';
import {type Problem, ProjectFailure, projectFailure} from './project-failure.ts';

export type LockedPackage = Required<UploadedPackage> & {
  name: string;
  /** The location of its tarball according to npm; null: the registry. */
  resolved: string | null;
};

export const LOCK_FILE = 'package-lock.json';

/** The members of an entry that are read here; all of them can be missing. */
type Entry = {
  version?: unknown;
  resolved?: unknown;
  integrity?: unknown;
  link?: unknown;
  inBundle?: unknown;
  optional?: unknown;
  devOptional?: unknown;
  os?: unknown;
  cpu?: unknown;
  libc?: unknown;
  dependencies?: unknown;
  optionalDependencies?: unknown;
  peerDependencies?: unknown;
};
type Entries = ReadonlyMap<string, Entry>;

/**
 * @param names that modules import, or svc.json names
 * @throws ProjectFailure with all obstacles
 */
export async function lockedPackages(root: string, names: readonly string[]): Promise<LockedPackage[]> {
  if (names.length === 0) return [];
  const entries = await readEntries(root);
  const problems: Problem[] = [];
  const found = new Map<string, LockedPackage>();
  for (const name of names) {
    const path = `node_modules/${name}`;
    const fault = entries.has(path) ? await installFault(root, path, entries.get(path)!) : notInstalled(name);
    if (fault !== null) problems.push({message: fault, file: LOCK_FILE});
  }
  if (problems.length > 0) throw new ProjectFailure(problems);
  const visited = new Set<string>();
  const waiting = names.map(name => `node_modules/${name}`);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (visited.has(path)) continue;
    visited.add(path);
    const entry = entries.get(path)!;
    // An optional package that is restricted to a system contains native code, which functions cannot load.
    if (isOptional(entry) && isOfOneSystem(entry)) continue;
    // It comes in its parent's tarball; its dependencies can be elsewhere.
    if (entry.inBundle !== true) {
      const locked = lockedPackage(path, entry);
      if (typeof locked === 'string') problems.push({message: locked, file: LOCK_FILE});
      else found.set(path, locked);
    }
    const {wanted, optional} = dependenciesOf(entry);
    for (const name of [...wanted, ...optional]) {
      const next = resolved(entries, path, name);
      if (next !== null) waiting.push(next);
      else if (wanted.includes(name)) problems.push({message: incomplete(name, path), file: LOCK_FILE});
    }
  }
  if (problems.length > 0) throw new ProjectFailure(problems);
  return [...found.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function readEntries(root: string): Promise<Entries> {
  let text: string;
  try {
    text = await readFile(join(root, LOCK_FILE), 'utf8');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
    throw projectFailure(
      `"node.externalPackages": there is no ${LOCK_FILE} in the project, which says what to install; npm install makes it`,
      'svc.json',
    );
  }
  let lock: unknown;
  try {
    lock = JSON.parse(text);
  } catch (caught) {
    throw projectFailure(`is not JSON: ${(caught as Error).message}`, LOCK_FILE);
  }
  const {packages} = object(lock);
  if (packages === undefined) {
    throw projectFailure(
      'is of a version that has no "packages"; npm install of npm 7 or newer recreates it',
      LOCK_FILE,
    );
  }
  return new Map(Object.entries(object(packages)).map(([path, entry]) => [path, object(entry) as Entry]));
}

function notInstalled(name: string): string {
  return `${name} is in "node.externalPackages" and not installed: there is no node_modules/${name}; npm install ${name} adds it`;
}

/** The installed version must be the locked one: the developer's machine runs the same code as the deployment. */
async function installFault(root: string, path: string, entry: Entry): Promise<string | null> {
  const name = nameIn(path);
  if (entry.link === true) return null; // reported below
  let version: unknown;
  try {
    ({version} = object(JSON.parse(await readFile(join(root, path, 'package.json'), 'utf8'))));
  } catch {
    return `${name} is in "node.externalPackages" and not installed: ${path} is not there; npm ci installs it`;
  }
  if (version === entry.version) return null;
  return `${name} is installed as ${String(version)}, and locked as ${String(entry.version)}; npm ci brings them together`;
}

/** A text: why it cannot be deployed. */
function lockedPackage(path: string, entry: Entry): LockedPackage | string {
  const name = nameIn(path);
  const {version, resolved: from, integrity} = entry;
  if (entry.link === true || typeof version !== 'string') {
    return `${name} is a directory of this project and no package of a registry: take it out of "node.externalPackages", so that it is bundled`;
  }
  const sha512 = typeof integrity === 'string' ? sha512In(integrity) : null;
  if (sha512 === null) {
    const has =
      typeof integrity === 'string' ? `the integrity ${integrity.slice(0, 40)}, which is no SHA-512` : 'no integrity';
    const source = typeof from === 'string' && !from.startsWith('http') ? ` (it comes from ${from.slice(0, 140)})` : '';
    return `${name}@${version} has ${has}${source}: what would be installed cannot be checked; install it from a registry, or leave it to the bundle`;
  }
  const isOf = isOptional(entry);
  return {path, name, version, sha512, optional: isOf, resolved: typeof from === 'string' ? from : null};
}

/** The last SHA-512 of `sha1-… sha512-…`, as hex; null: it has none. */
function sha512In(integrity: string): string | null {
  for (const hash of integrity.split(/\s+/)) {
    const [, base64] = /^sha512-([A-Za-z0-9+/]{86}==)(?:\?.*)?$/.exec(hash) ?? [];
    if (base64 !== undefined) return Buffer.from(base64, 'base64').toString('hex');
  }
  return null;
}

function isOptional({optional, devOptional}: Entry): boolean {
  return optional === true || devOptional === true;
}

function isOfOneSystem({os, cpu, libc}: Entry): boolean {
  return os !== undefined || cpu !== undefined || libc !== undefined;
}

function dependenciesOf(entry: Entry): {wanted: string[]; optional: string[]} {
  const [dependencies, optional, peers] = [entry.dependencies, entry.optionalDependencies, entry.peerDependencies].map(
    names => Object.keys(object(names ?? {})),
  ) as [string[], string[], string[]];
  // npm can be configured to skip peers; they are then missing from the lock file.
  return {wanted: dependencies.filter(name => !optional.includes(name)), optional: [...optional, ...peers]};
}

/** The path at which Node finds it from there; null: none. */
function resolved(entries: Entries, from: string, name: string): string | null {
  for (let at = from; ; ) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (entries.has(path)) return path;
    if (at === '') return null;
    const above = at.lastIndexOf('/node_modules/');
    at = above === -1 ? '' : at.slice(0, above);
  }
}

function incomplete(name: string, path: string): string {
  return `${nameIn(path)} depends on ${name}, which is not locked; npm install recreates the file`;
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
