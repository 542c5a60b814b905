/**
 * The directories of the tenants, `<data>/tenants/t_<encoded id>_<generation>`. The name is an encoding of the id, never
 * the id: on a file system that ignores case, `Acme` and `acme` must not meet.
 */
import {mkdir, open, readdir, rm} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {assert} from '../../shared/assert.ts';
import {TENANT_ID} from '../../shared/protocol/tenants.ts';

/** The directory's name: an upper-case letter is `=` and its lower-case form, `_` is `=_`, so the last `_` is ours. */
export function tenantDirectoryName(id: string, generation: number): string {
  assert(TENANT_ID.test(id), 'a tenant id was checked before it names a directory');
  return `t_${id.replace(/[A-Z_]/g, char => `=${char.toLowerCase()}`)}_${generation}`;
}

export class TenantFiles {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async open(data: string): Promise<TenantFiles> {
    const root = join(data, 'tenants');
    await mkdir(root, {recursive: true, mode: 0o700});
    await syncDirectory(data);
    return new TenantFiles(root);
  }

  path(id: string, generation: number): string {
    return join(this.#root, tenantDirectoryName(id, generation));
  }

  /** The directory exists on disk, whatever happens next, when this resolves. */
  async create(id: string, generation: number): Promise<void> {
    const path = this.path(id, generation);
    // Left over only if a crash came before the registry knew this generation.
    await rm(path, {recursive: true, force: true});
    await mkdir(path, {mode: 0o700});
    await syncDirectory(path);
    await syncDirectory(this.#root);
  }

  /** The directory is gone from disk when this resolves; it may have been gone before. */
  async remove(id: string, generation: number): Promise<void> {
    await rm(this.path(id, generation), {recursive: true, force: true, maxRetries: 3});
    await syncDirectory(this.#root);
  }

  /** Removes tenant directories that are not in `known`: a crash came between making one and naming it in the registry. */
  async removeUnknown(known: ReadonlySet<string>): Promise<string[]> {
    const unknown = (await readdir(this.#root)).filter(
      name => name.startsWith('t_') && !known.has(join(this.#root, name)),
    );
    for (const name of unknown) await rm(join(this.#root, name), {recursive: true, force: true});
    if (unknown.length > 0) await syncDirectory(this.#root);
    return unknown;
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes `path` and the directories above it that are missing, each on disk. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, {recursive: true, mode: 0o700});
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}
