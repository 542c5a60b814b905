/**
 * The code of Node modules as files, which Node cannot do without: below the tenant's directory, by what is in them, so that
 * deployments with the same code share a directory and its processes.
 *
 *   node/<packages>/node_modules   what the deployment does not bundle; shared by deployments that want the same
 *   node/<packages>/<code>/        the bundle's files
 *
 * They are a copy: the tenant's file has the code. A file that is not what was deployed is written again before it is used.
 */
import {createHash} from 'node:crypto';
import {mkdir, readdir, readFile, realpath, rename, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {NodePart} from '../../../shared/protocol/functions.ts';

export class CodeDirectories {
  readonly #root: string;

  /** @param tenant its directory */
  constructor(tenant: string) {
    this.#root = join(tenant, 'node');
  }

  /** Writes what is not there. @param read the source of a file. @returns the directory, with a slash at its end */
  async write(part: NodePart, read: (path: string) => string): Promise<string> {
    const directory = this.#of(part);
    await mkdir(directory, {recursive: true, mode: 0o700});
    const root = await realpath(directory);
    await place(join(root, 'package.json'), '{"type":"module"}\n');
    for (const {path} of part.files) {
      await mkdir(dirname(join(root, path)), {recursive: true, mode: 0o700});
      await place(join(root, path), read(path));
    }
    return `${root}/`;
  }

  /** Removes what none of these has. */
  async forget(parts: () => readonly NodePart[]): Promise<void> {
    const names = await namesIn(this.#root);
    if (names.length === 0) return;
    const kept = parts();
    const packages = new Set(kept.map(packagesName));
    const code = new Set(kept.map(part => this.#of(part)));
    for (const name of names) {
      const path = join(this.#root, name);
      if (!packages.has(name)) await rm(path, {recursive: true, force: true});
      else {
        for (const entry of await namesIn(path)) {
          if (/^[0-9a-f]{64}$/.test(entry) && !code.has(join(path, entry)))
            await rm(join(path, entry), {recursive: true, force: true});
        }
      }
    }
  }

  #of(part: NodePart): string {
    const list = JSON.stringify([part.version, part.files]);
    return join(this.#root, packagesName(part), createHash('sha256').update(list).digest('hex'));
  }
}

function packagesName(_part: NodePart): string {
  return 'bundled';
}

/** Nobody sees half a file. */
async function place(path: string, content: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch(() => null); // Missing, or whatever else: it is written.
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
