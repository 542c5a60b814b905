/**
 * The directories of the tenants, `<data>/tenants`, and what their names and contents mean. They are the authoritative
 * record of tenants; the registry is a cache of them.
 *
 *   t_<id>_<n>, empty                   a creation that was interrupted before it was confirmed
 *   t_<id>_<n> with only tenant.new     a tenant that was never used
 *   t_<id>_<n> with anything else       a tenant; with tenant.adopt, one that came as a file, or begins a timeline
 *   d_<id>_<n>                          a deleted tenant, whose remaining files are to be removed
 */
import {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import {closeSync, constants, existsSync, fsyncSync, openSync, readdirSync, writeFileSync} from 'node:fs';
import {mkdir, open, readdir, rename, rm, rmdir, unlink} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {firstEntries} from '../../shared/outside-files.ts';
import {readNote, statFile, within} from '../../shared/regular-file.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {
  ADOPT_FILE,
  type AdoptNote,
  adoptNoteIn,
  NEW_TENANT_FILE,
  type NewTenant,
  TENANT_FILE,
} from '../../shared/tenant-directory.ts';
import {deletedDirectoryName, parseDirectoryName, tenantDirectoryName} from './directory-name.ts';

/** One of the directories. If svc does not give names like `name`, then `id` and `generation` are null. */
export type FoundDirectory = {
  name: string;
  kind: 'tenant' | 'deleted' | 'foreign';
  id: string | null;
  generation: number | null;
  /**
   * `new`: only a note that says that the tenant was created; `torn`: only part of such a note; `odd`: an entry with
   * the note's name that is not a file, which no creation leaves.
   */
  content: 'empty' | 'torn' | 'odd' | 'new' | 'used';
  /** The time in the note, if `content` is `new`. */
  createdMs: number | null;
  /** The note of its adoption, until it is opened for the first time; null: it did not come as a file. */
  adopted: AdoptNote | null;
};

/** What can be determined about a tenant's file without opening it. */
export type FileState = {
  /** The tenant was never used: its file does not exist yet, or is being created. */
  isNew: boolean;
  /** The tenant was used before and its file is missing or empty. */
  isLost: boolean;
  /** When the file was last changed, whole epoch milliseconds; null: it does not exist. */
  fileMs: number | null;
  /** There is a log that no orderly close has merged into the file. */
  hasLog: boolean;
  /** Of the file and its log. */
  bytes: number;
};

/** The individual changes, about one system call each, so that a test can end the process between any two. */
export const realSteps = {
  mkdir: (path: string) => mkdir(path, {mode: 0o700}),
  writeNote: async (path: string, text: string) => {
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  rename,
  unlink,
  rmdir,
  remove: removeTree,
  syncDirectory,
};
export type Steps = typeof realSteps;

export class TenantFiles {
  readonly root: string;
  readonly #steps: Steps;

  constructor(root: string, steps: Steps = realSteps) {
    this.root = root;
    this.#steps = steps;
  }

  static async open(data: string): Promise<TenantFiles> {
    const root = join(data, 'tenants');
    await mkdir(root, {recursive: true, mode: 0o700});
    await syncDirectory(data);
    return new TenantFiles(root);
  }

  path(id: string, generation: number): string {
    return join(this.root, tenantDirectoryName(id, generation));
  }

  #deletedPath(id: string, generation: number): string {
    return join(this.root, deletedDirectoryName(id, generation));
  }

  /** When this resolves, the directory and its note are durable; after a failure, neither exists. */
  async create(id: string, generation: number, createdMs: number): Promise<void> {
    const path = this.path(id, generation);
    const note: NewTenant = {tenant: id, generation, created_ms: createdMs};
    await this.#steps.mkdir(path);
    try {
      await this.#steps.writeNote(join(path, NEW_TENANT_FILE), `${JSON.stringify(note)}\n`);
      await this.#steps.syncDirectory(path);
      await this.#steps.syncDirectory(this.root);
    } catch (caught) {
      await this.removeNew(id, generation);
      throw caught;
    }
  }

  /** Reverts a creation. Removes nothing of a tenant that was used, because its directory is not empty then. */
  async removeNew(id: string, generation: number): Promise<void> {
    const path = this.path(id, generation);
    await this.#steps.unlink(join(path, NEW_TENANT_FILE)).catch(unlessMissing);
    await this.removeEmpty(id, generation);
  }

  async removeEmpty(id: string, generation: number): Promise<void> {
    await this.#steps.rmdir(this.path(id, generation));
    await this.#steps.syncDirectory(this.root);
  }

  /** When this resolves, the tenant's deletion is durable, even if its directory was lost. */
  async markDeleted(id: string, generation: number): Promise<void> {
    const marked = this.#deletedPath(id, generation);
    try {
      await this.#steps.rename(this.path(id, generation), marked);
    } catch (caught) {
      unlessMissing(caught);
      if (!existsSync(marked)) await this.#steps.mkdir(marked);
    }
    await this.#steps.syncDirectory(this.root);
  }

  /** Removes the files of a deleted tenant. Its mark stays until the registry has removed the row. */
  async emptyDeleted(id: string, generation: number): Promise<void> {
    const marked = this.#deletedPath(id, generation);
    for (const name of await readdir(marked, {encoding: 'buffer'})) await this.#steps.remove(within(marked, name));
  }

  async removeMark(id: string, generation: number): Promise<void> {
    await this.#steps.rmdir(this.#deletedPath(id, generation));
    await this.#steps.syncDirectory(this.root);
  }

  /** Moves a directory with a file and its note here: from now on it is the tenant's. */
  async place(directory: string, {tenant, generation}: AdoptNote): Promise<void> {
    await this.#steps.rename(directory, this.path(tenant, generation));
    await this.#steps.syncDirectory(this.root);
  }

  /**
   * Reverts `place` after an error. @returns false: it cannot be reverted, because the tenant that was replaced is not
   * here any more
   * @throws errors of the file system: both are here. The next start goes on with the adoption
   */
  async takeBack(directory: string, {tenant, generation, replaces}: AdoptNote): Promise<boolean> {
    const path = this.path(tenant, generation);
    if (!existsSync(path)) return true;
    if (replaces !== null && !existsSync(this.path(tenant, replaces))) return false;
    await this.#steps.rename(path, directory);
    await this.#steps.syncDirectory(this.root);
    return true;
  }

  /** The tenant's own file begins a new timeline when it is opened next. Durable when it resolves. @returns the timeline */
  async noteTimeline(id: string, generation: number, createdMs: number): Promise<string> {
    const note: AdoptNote = {
      ...{tenant: id, generation, created_ms: createdMs, timeline: randomBytes(16).toString('hex')},
      ...{origin: null, replaces: null, serve: 'all', is_own: true},
    };
    const path = this.path(id, generation);
    // Not in the tenant's directory: its user could put a link there. A start empties this one.
    const incoming = join(dirname(this.root), 'incoming');
    await makeDirectory(incoming);
    const next = join(incoming, `timeline-${tenantDirectoryName(id, generation)}`);
    await this.#steps.unlink(next).catch(unlessMissing);
    await this.#steps.writeNote(next, `${JSON.stringify(note)}\n`);
    await this.#steps.rename(next, join(path, ADOPT_FILE));
    await this.#steps.syncDirectory(path);
    return note.timeline;
  }

  /** Moves a replaced tenant to set-aside/, if it is here. */
  async setAside(id: string, generation: number, nowMs: number): Promise<void> {
    const path = this.path(id, generation);
    if (!existsSync(path)) return;
    const place = join(dirname(this.root), 'set-aside');
    await makeDirectory(place);
    await this.#steps.rename(path, join(place, `restored-${nowMs}-${tenantDirectoryName(id, generation)}`));
    await this.#steps.syncDirectory(place);
    await this.#steps.syncDirectory(this.root);
  }

  fileState(id: string, generation: number): FileState {
    return fileStateOf(this.path(id, generation));
  }

  scan(): FoundDirectory[] {
    return scanTenants(this.root);
  }
}

export function fileStateOf(directory: string): FileState {
  const file = statFile(join(directory, TENANT_FILE));
  const log = statFile(join(directory, `${TENANT_FILE}-wal`));
  const isNew = statFile(join(directory, NEW_TENANT_FILE)) !== undefined;
  return {
    isNew,
    isLost: (file?.size ?? 0) === 0 && !isNew,
    fileMs: file === undefined ? null : Math.floor(file.mtimeMs),
    hasLog: (log?.size ?? 0) > 0,
    bytes: (file?.size ?? 0) + (log?.size ?? 0),
  };
}

/** All directories of `<data>/tenants`, in order of name; none if it is missing. */
export function scanTenants(root: string): FoundDirectory[] {
  if (!existsSync(root)) return [];
  return readdirSync(root, {withFileTypes: true})
    .filter(entry => entry.isDirectory() || /^[td]_/.test(entry.name))
    .map(entry => described(root, entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A directory that cannot be read does not count as empty. */
function described(root: string, name: string): FoundDirectory {
  const parsed = parseDirectoryName(name);
  const used: FoundDirectory = {
    name,
    kind: parsed?.kind ?? 'foreign',
    id: parsed?.id ?? null,
    generation: parsed?.generation ?? null,
    content: 'used',
    createdMs: null,
    adopted: parsed === null ? null : adoptedIn(join(root, name), parsed),
  };
  const entries = entriesOf(join(root, name));
  if (entries === null) return used;
  if (entries.length === 0) return {...used, content: 'empty'};
  if (entries.length > 1 || entries[0] !== NEW_TENANT_FILE) return used;
  const note = readNote(join(root, name, NEW_TENANT_FILE));
  if (note.is === 'torn') return {...used, content: 'odd'};
  const createdMs = parsed === null || note.is === 'missing' ? null : createdIn(note.text, parsed);
  return createdMs === null ? {...used, content: 'torn'} : {...used, content: 'new', createdMs};
}

/** Null: there is no note, or it is not about this tenant, or about its own file. */
function adoptedIn(directory: string, owner: {id: string; generation: number}): AdoptNote | null {
  try {
    const note = readNote(join(directory, ADOPT_FILE));
    const adopted = note.is === 'file' ? adoptNoteIn(note.text) : null;
    // Its own file is treated as that of each tenant, also without a row.
    const isFrom = adopted?.is_own !== true;
    return isFrom && adopted?.tenant === owner.id && adopted.generation === owner.generation ? adopted : null;
  } catch (caught) {
    if (UNREADABLE.has((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOTDIR', 'ENOENT']);

/** Reads two entries at most, because two prove that the tenant was used. */
function entriesOf(path: string): string[] | null {
  try {
    return firstEntries(path, 2);
  } catch (caught) {
    if (UNREADABLE.has((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
}

/** Null: the note is incomplete, or not about this tenant. */
function createdIn(text: string, owner: {id: string; generation: number}): number | null {
  try {
    const note = JSON.parse(text) as Partial<NewTenant> | null;
    const isOurs = note?.tenant === owner.id && note.generation === owner.generation;
    return isOurs && Number.isSafeInteger(note.created_ms) ? note.created_ms! : null;
  } catch (caught) {
    if (caught instanceof SyntaxError) return null;
    throw caught;
  }
}

/** Creates the file, and does not follow a link in its place. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/** Adds the note to a tenant that was never used and comes from a version without such notes. */
export function noteUnused(directory: string, note: NewTenant): void {
  const path = join(directory, NEW_TENANT_FILE);
  const file = openSync(path, NEW_FILE, 0o600);
  try {
    writeFileSync(file, `${JSON.stringify(note)}\n`, {flush: true});
  } finally {
    closeSync(file);
  }
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function unlessMissing(caught: unknown): void {
  if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
}

/**
 * Also removes trees that are deeper than a path can be long, which code can create step by step. Names may contain any
 * bytes.
 */
export async function removeTree(path: string | Buffer): Promise<void> {
  try {
    await rm(path, {recursive: true, force: true, maxRetries: 3});
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw caught;
    await removeFlattened(Buffer.from(path));
  }
}

/**
 * Moves each deeper directory up into `path`, under a new name, before its content is read, so no path grows. Nothing is
 * moved out of `path`, so a kill meanwhile leaves nothing that the next removal would not find.
 */
async function removeFlattened(path: Buffer): Promise<void> {
  const waiting = [path];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await readdir(next, {withFileTypes: true, encoding: 'buffer'})) {
      const its = within(next, entry.name);
      if (!entry.isDirectory()) {
        await unlink(its);
        continue;
      }
      const moved = next === path ? its : within(path, randomBytes(16).toString('hex'));
      if (moved !== its) await rename(its, moved);
      waiting.push(moved);
    }
    if (next !== path) await rmdir(next);
  }
  await rmdir(path);
}

/** Creates `path` and its missing parent directories, each durable. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, {recursive: true, mode: 0o700});
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}
