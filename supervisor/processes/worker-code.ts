/**
 * The code that workers run: Node, our bundles and the native packages. Workers load parts of it after switching to
 * their tenant's user. If it lies below a directory that is closed to others (such as Node of `npx` below /root), the
 * layer `users` would be missing. In that case it is copied once into the data directory, owned by root and readable
 * for all, and workers are started from the copy:
 *
 *   code/<key>/   node, package.json, dist/, node_modules/      (the key: names, sizes and times of the files that were copied)
 *
 * A copy is created next to its final path and renamed. Copies with another key are removed, because no other server
 * uses this data directory. Files that others can read already are hard-linked if the file system supports it, which
 * costs neither time nor space.
 */
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync, type Stats, statSync} from 'node:fs';
import {chmod, copyFile, link, mkdir, mkdtemp, readdir, rename, rm} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {basename, dirname, join, sep} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import {type Confinement, findConfinement} from '../confinement/confinement.ts';
import {closedTo, type UsersNeed, type UsersSetting} from '../confinement/users.ts';
import {runBases} from '../files/run-directory.ts';

export type WorkerCode = {
  /** The Node executable. */
  executable: string;
  /** The bundle of workers; the others are next to it. */
  entry: string;
};

/** Packages outside the bundles that workers load. */
const PACKAGES = ['better-sqlite3', 'croner', 'isolated-vm', 'piscina'];
/** Contents of packages that are not run: native sources, and documentation. */
const NOT_RUN = /^(?:deps|src|vendor|native-example|docs?|test|benchmark|.*\.(?:tgz|md|map|d\.ts))$/;
/** Not a group of ours: tests whether everyone has access. */
const NO_GROUP = -1;

export type ConfinedCode = {code: WorkerCode; confinement: Confinement};

/** How workers are confined, and the code that they can run that way. */
export async function confinedCode(
  own: WorkerCode,
  setting: UsersSetting,
  data: string,
  log: Logger,
): Promise<ConfinedCode> {
  const copy = setting !== 'none' && process.geteuid?.() === 0 ? await openCopy(own, data, log) : null;
  if (copy !== null) {
    const confinement = await findConfinement(usersNeed(copy, setting, data));
    if (confinement.users !== null) return {code: copy, confinement};
  }
  return {code: own, confinement: await findConfinement(usersNeed(own, setting, data))};
}

function usersNeed(code: WorkerCode, setting: UsersSetting, data: string): UsersNeed {
  const dist = dirname(code.entry);
  const {resolve} = createRequire(code.entry);
  const bundles = readdirSync(dist).filter(name => /\.c?js$/.test(name));
  return {
    setting,
    data,
    reads: [...bundles.map(name => join(dist, name)), ...PACKAGES.map(name => resolve(name))],
    runs: [code.executable],
    passes: dist,
    socketBases: runBases(),
  };
}

/** Null: others can read the code where it is, or cannot reach the data directory either, or it cannot be copied. */
export async function openCopy(own: WorkerCode, data: string, log: Logger): Promise<WorkerCode | null> {
  const copies = join(data, 'code');
  const {reads, runs} = usersNeed(own, 'auto', data);
  const isClosed = [...reads, ...runs].some(path => !isOpen(path)) && closedTo(NO_GROUP, dirname(data)) === null;
  try {
    const files = isClosed ? filesOf(own) : [];
    const key = isClosed ? keyOf(files) : null;
    await removeOthers(copies, key);
    if (key === null) return null;
    const home = join(copies, key);
    if (!existsSync(home)) {
      await makeCopy(files, copies, home);
      log.debug('the code of workers was copied to where users of tenants can read it', {directory: home});
    }
    return {executable: join(home, 'node'), entry: join(home, 'dist', basename(own.entry))};
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    log.warn('the code of workers could not be copied to where users of tenants can read it', {error});
    return null;
  }
}

type CodeFile = {from: string; to: string; stat: Stats};

function isOpen(path: string): boolean {
  return closedTo(NO_GROUP, dirname(path)) === null && (statSync(path).mode & 0o004) !== 0;
}

function filesOf({executable, entry}: WorkerCode): CodeFile[] {
  const dist = dirname(entry);
  const files: CodeFile[] = [];
  const add = (from: string, to: string) => files.push({from, to, stat: statSync(from)});
  add(executable, 'node');
  add(join(dist, '..', 'package.json'), 'package.json');
  for (const name of readdirSync(dist)) if (/\.c?js$/.test(name)) add(join(dist, name), join('dist', name));
  for (const [name, directory] of packagesOf(PACKAGES, entry)) {
    for (const path of filesIn(directory)) add(join(directory, path), join('node_modules', name, path));
  }
  return files;
}

/** Packages and their dependencies, by name. An optional one may be missing, because it is for another machine. */
function packagesOf(names: readonly string[], from: string, found = new Map<string, string>()): Map<string, string> {
  for (const name of names) {
    const directory = createRequire(from)
      .resolve.paths(name)
      ?.map(modules => join(modules, name))
      .find(path => existsSync(join(path, 'package.json')));
    if (directory === undefined || found.has(name)) continue;
    found.set(name, directory);
    const manifest = join(directory, 'package.json');
    const {dependencies, optionalDependencies} = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, object>;
    packagesOf(Object.keys({...dependencies, ...optionalDependencies}), manifest, found);
  }
  return found;
}

/** Paths in a package that its code may load on this machine. */
function filesIn(directory: string): string[] {
  return readdirSync(directory, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter(path => {
      const names = path.split(sep);
      const isOfOthers = names[0] === 'prebuilds' && !names[1]!.startsWith(process.platform);
      return !isOfOthers && !names.some(name => NOT_RUN.test(name));
    });
}

function keyOf(files: readonly CodeFile[]): string {
  const hash = createHash('sha256').update(process.version);
  for (const {from, to, stat} of files) hash.update(JSON.stringify([from, to, stat.size, stat.mtimeMs]));
  return hash.digest('hex').slice(0, 16);
}

async function removeOthers(copies: string, key: string | null): Promise<void> {
  if (!existsSync(copies)) return;
  for (const name of await readdir(copies)) {
    if (name !== key) await rm(join(copies, name), {recursive: true, force: true});
  }
}

async function makeCopy(files: readonly CodeFile[], copies: string, home: string): Promise<void> {
  await mkdir(copies, {recursive: true});
  await chmod(copies, 0o755);
  const staging = await mkdtemp(join(copies, '.new-'));
  await chmod(staging, 0o755);
  for (const file of files) await place(file, join(staging, file.to), staging);
  await rename(staging, home);
}

async function place({from, stat}: CodeFile, to: string, staging: string): Promise<void> {
  for (const directory of directoriesBetween(staging, dirname(to))) {
    await mkdir(directory, {recursive: true});
    await chmod(directory, 0o755);
  }
  const isRun = (stat.mode & 0o100) !== 0;
  const all = isRun ? 0o755 : 0o644;
  const isLinked = stat.uid === 0 && (stat.mode & 0o777) === all && (await isDone(link(from, to)));
  if (isLinked) return;
  await copyFile(from, to);
  await chmod(to, all);
}

/** False: on another file system, or one without hard links. */
async function isDone(linked: Promise<void>): Promise<boolean> {
  return linked.then(
    () => true,
    () => false,
  );
}

function directoriesBetween(above: string, below: string): string[] {
  return below === above ? [] : [...directoriesBetween(above, dirname(below)), below];
}
