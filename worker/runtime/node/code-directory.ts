/**
 * Writes the code of Node modules to disk, because Node can only load files. The directories are below the tenant's
 * directory and named after a hash of their contents, so deployments with the same code share a directory and its
 * processes.
 *
 *   node/<code>/       the bundle's files, the scripts that run them in .svc/, the packages it imports in node_modules/
 *   services/<code>/   the same for services, whose code need not belong to a current deployment
 *   sandboxes/<code>/  the scripts alone, one directory for each version of Node
 *
 * These directories are copies; the tenant's file has the original code. A file that differs from the deployed one is
 * rewritten before use. Only one directory is written or removed at a time, because services of one deployment share a
 * directory and start together.
 */
import {createHash} from 'node:crypto';
import {mkdir, readdir, readFile, realpath, rename, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {NodePart} from '../../../shared/protocol/functions.ts';
import type {PackageStore} from './package-store.ts';

/** Our own scripts are next to the code, so that the process needs read access to only one directory. */
const RUNTIME = '.svc';
const SCRIPTS = ['node-child.js', 'node-call.js'];
/** The script that the process runs, relative to the directory of the code. */
export const NODE_MAIN = `${RUNTIME}/node-child.js`;
const DIST = dirname(fileURLToPath(import.meta.url));

export class CodeDirectories {
  readonly #root: string;
  readonly #packages: PackageStore;
  readonly #scripts: string;
  /** Resolves when the most recently requested write or removal is done. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param tenant its directory. @param scripts the directory of our scripts */
  constructor(tenant: string, room: 'node' | 'services' | 'sandboxes', packages: PackageStore, scripts = DIST) {
    this.#root = join(tenant, room);
    this.#packages = packages;
    this.#scripts = scripts;
  }

  /** Writes missing files. @param read returns the source of a file. @returns the directory, with a trailing slash */
  write(part: NodePart, read: (path: string) => string): Promise<string> {
    return this.#inTurn(() => this.#write(part, read));
  }

  /** Removes directories that none of these parts uses. */
  forget(parts: () => readonly NodePart[]): Promise<void> {
    return this.#inTurn(() => this.#forget(parts));
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined); // The caller gets the error.
    return turn;
  }

  async #write(part: NodePart, read: (path: string) => string): Promise<string> {
    const directory = this.#of(part);
    await mkdir(directory, {recursive: true, mode: 0o700});
    const root = await realpath(directory);
    await place(join(root, 'package.json'), '{"type":"module"}\n');
    for (const {path} of part.files) {
      await mkdir(dirname(join(root, path)), {recursive: true, mode: 0o700});
      await place(join(root, path), read(path));
    }
    await this.#packages.layOut(root, part.packages ?? []);
    await mkdir(join(root, RUNTIME), {recursive: true, mode: 0o700});
    for (const name of SCRIPTS)
      await place(join(root, RUNTIME, name), await readFile(join(this.#scripts, name), 'utf8'));
    return `${root}/`;
  }

  async #forget(parts: () => readonly NodePart[]): Promise<void> {
    const names = await namesIn(this.#root);
    if (names.length === 0) return;
    const kept = new Set(parts().map(part => this.#of(part)));
    for (const name of names) {
      const path = join(this.#root, name);
      if (!kept.has(path)) await rm(path, {recursive: true, force: true});
    }
  }

  #of(part: NodePart): string {
    return join(this.#root, digestOfPart(part));
  }
}

/** Changes with the code, with each package that it imports, and with the version of Node. */
export function digestOfPart({version, files, packages = []}: NodePart): string {
  const list = packages.length === 0 ? [version, files] : [version, files, packages];
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}

/** Writes a file atomically, so that no reader sees part of it. */
async function place(path: string, content: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch(() => null); // Missing or unreadable: it is written.
  if (there === content) return;
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, content, {mode: 0o600});
  await rename(temporary, path);
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (caught) {
    if (['ENOENT', 'ENOTDIR'].includes((caught as NodeJS.ErrnoException).code ?? '')) return [];
    throw caught;
  }
}
