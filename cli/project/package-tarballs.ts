/**
 * Uploads the external packages of a deployment that the server lacks. Tarballs come from npm: its cache has those that
 * `npm ci` fetched, so this works without a network; for others npm knows the registries of the project and their
 * credentials. Each tarball is compared with the lock file here, so that the error appears where it can be fixed, and
 * again at the server.
 */
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {PACKAGE_BYTES_MAX, STDERR_TAIL_CHARS} from '../../shared/limits.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {PACKAGE_UPLOADS_AT_ONCE, PACKAGES_PER_NPM} from '../limits.ts';
import {LOCK_FILE, type LockedPackage} from './lock-file.ts';
import {projectFailure} from './project-failure.ts';
import {ask, type Target} from './target.ts';

/** The location that lock files record for packages from npm's registry, even if the project uses a mirror. */
const NPM_REGISTRY = 'https://registry.npmjs.org/';
const MIB = 1024 * 1024;

/** @throws ProjectFailure, CommandFailure */
export async function sendPackages(
  target: Target,
  packages: readonly LockedPackage[],
  say: (text: string) => void,
): Promise<void> {
  if (packages.length === 0) return;
  const bySha512 = new Map(packages.map(found => [found.sha512, found]));
  const {missing} = await ask(target, 'packages.missing', [], {body: {packages: [...bySha512.keys()]}});
  if (missing.length === 0) return;
  const wanted = missing.flatMap(sha512 => bySha512.get(sha512) ?? []);
  say(`sending ${counted(wanted.length, 'package')} of ${bySha512.size} to the server`);
  let bytes = 0;
  for (let at = 0; at < wanted.length; at += PACKAGES_PER_NPM) {
    const some = wanted.slice(at, at + PACKAGES_PER_NPM);
    const tarballs = await tarballsOf(target.project.root, some);
    for (const tarball of tarballs.values()) bytes += tarball.length;
    await sendAll(target, [...tarballs]);
    if (at + some.length < wanted.length) say(`sent ${at + some.length} of ${counted(wanted.length, 'package')}`);
  }
  say(`sent ${counted(wanted.length, 'package')}, ${(bytes / MIB).toFixed(1)} MiB`);
}

async function sendAll(target: Target, tarballs: [sha512: string, tarball: Buffer][]): Promise<void> {
  const send = async () => {
    for (let next = tarballs.pop(); next !== undefined; next = tarballs.pop()) {
      const [sha512, tarball] = next;
      await ask(target, 'packages.put', [sha512], {body: tarball});
    }
  };
  await Promise.all(Array.from({length: PACKAGE_UPLOADS_AT_ONCE}, send));
}

/** Tarballs by their SHA-512. */
async function tarballsOf(root: string, packages: readonly LockedPackage[]): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const installed: LockedPackage[] = [];
  for (const locked of packages) {
    const file = fileOf(root, locked);
    if (file === null) installed.push(locked);
    else await takeFile(found, file);
  }
  if (installed.length > 0) await takeInstalled(found, root, installed);
  const wrong = packages.filter(({sha512}) => !found.has(sha512));
  if (wrong.length === 0) return found;
  const named = wrong.map(({name, version}) => `${name}@${version}`).join(', ');
  throw projectFailure(
    `${named}: the downloaded package does not match the lock file (its integrity differs); check its origin before you run npm install again`,
    LOCK_FILE,
  );
}

/** From npm's cache, or else from the source that npm uses. */
async function takeInstalled(
  found: Map<string, Buffer>,
  root: string,
  packages: readonly LockedPackage[],
): Promise<void> {
  const {cache, registry} = await npmSettings(root);
  for (const {sha512} of packages) {
    const path = join(cache, '_cacache/content-v2/sha512', sha512.slice(0, 2), sha512.slice(2, 4), sha512.slice(4));
    if (existsSync(path)) await takeFile(found, path);
  }
  const others = packages.filter(({sha512}) => !found.has(sha512));
  if (others.length === 0) return;
  await take(
    found,
    root,
    others.map(locked => specifier(locked, registry)),
  );
  // Packages whose tarballs have the same file name: `@a/b` and `a-b`.
  for (const locked of others) if (!found.has(locked.sha512)) await take(found, root, [specifier(locked, registry)]);
}

/** The tarball in the project that it was installed from; null: it was not installed from one. */
function fileOf(root: string, {resolved}: LockedPackage): string | null {
  if (resolved?.startsWith('file://') === true) return fileURLToPath(resolved);
  return resolved?.startsWith('file:') === true ? resolve(root, resolved.slice('file:'.length)) : null;
}

/** As `npm ci` does: a package locked to npm's registry comes from the project's registry. */
function specifier({name, version, resolved}: LockedPackage, registry: string): string {
  if (resolved === null) return `${name}@${version}`;
  return resolved.startsWith(NPM_REGISTRY) ? registry + resolved.slice(NPM_REGISTRY.length) : resolved;
}

/** The project's settings: its .npmrc can name another registry. */
async function npmSettings(root: string): Promise<{cache: string; registry: string}> {
  const output = await npm(['config', 'get', 'cache', 'registry'], root);
  const settings = Object.fromEntries(
    output.split('\n').map(line => [line.slice(0, line.indexOf('=')).trim(), line.slice(line.indexOf('=') + 1).trim()]),
  );
  const {cache = '', registry = ''} = settings;
  return {cache, registry: registry === '' || registry.endsWith('/') ? registry || NPM_REGISTRY : `${registry}/`};
}

async function take(found: Map<string, Buffer>, root: string, specifiers: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-packages-'));
  try {
    const flags = ['--pack-destination', directory, '--ignore-scripts', '--prefer-offline'];
    await npm(['pack', ...specifiers, ...flags, '--loglevel=error'], root);
    for (const name of await readdir(directory)) await takeFile(found, join(directory, name));
  } finally {
    await rm(directory, {recursive: true, force: true});
  }
}

async function takeFile(found: Map<string, Buffer>, path: string): Promise<void> {
  let tarball: Buffer;
  try {
    tarball = await readFile(path);
  } catch (caught) {
    throw projectFailure(`names ${path}, which cannot be read: ${(caught as Error).message}`, LOCK_FILE);
  }
  if (tarball.length > PACKAGE_BYTES_MAX) {
    throw projectFailure(
      `${path} has more than ${PACKAGE_BYTES_MAX / MIB} MiB, the most that a package may have`,
      LOCK_FILE,
    );
  }
  found.set(createHash('sha512').update(tarball).digest('hex'), tarball);
}

/** @returns its output. @throws CommandFailure with its error message */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const child = spawn('npm', args, {cwd, stdio: ['ignore', 'pipe', 'pipe']});
  let output = '';
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-STDERR_TAIL_CHARS);
  });
  return await new Promise((done, failed) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'ENOENT' ? 'npm is not on the PATH' : error.message;
      failed(new CommandFailure(`external packages come from npm: ${reason}`));
    });
    child.on('close', code => {
      if (code === 0) done(output);
      else failed(new CommandFailure(`external packages come from npm, which fails:\n${said.trimEnd()}`));
    });
  });
}
