/**
 * Copies of the server's own files for its repository: databases that this process has open, and the list of tenants.
 * Each is made when its original has changed, and replaces the one before as a whole. Credentials are not among them.
 */
import {mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import type {Copyable} from '../files/own-database.ts';
import type {Registry} from '../files/registry.ts';
import {STATE_COPY_MS} from '../limits.ts';

export type StateParts = {
  /** By file name. Null: it cannot be used. */
  databases: Readonly<Record<string, () => Copyable | null>>;
  /** JSON. */
  tenants: () => string;
};

type Files = Record<'keys' | 'audit' | 'refusals', {readonly copyable: Copyable | null}>;

/** What a restore of the whole server reads. */
export function serverState(registry: Pick<Registry, 'rows' | 'paused'>, files: () => Files): StateParts {
  return {
    databases: {
      'keys.sqlite': () => files().keys.copyable,
      'audit.sqlite': () => files().audit.copyable,
      'refusals.sqlite': () => files().refusals.copyable,
    },
    tenants: () => {
      const tenants = registry
        .rows()
        .map(({id, generation, created_ms}) => ({id, created_ms, paused: registry.paused.modeOf(id, generation)}));
      return `${JSON.stringify({tenants})}\n`;
    },
  };
}

const TENANTS_FILE = 'tenants.json';

export class StateCopies {
  readonly #directory: string;
  readonly #parts: StateParts;
  readonly #copied: (names: string[]) => void;
  readonly #log: Logger;
  /** What each database had changed when it was copied. */
  readonly #changes = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #copying: Promise<void> = Promise.resolve();

  /** @param copied called with the names of new copies */
  constructor(directory: string, parts: StateParts, copied: (names: string[]) => void, log: Logger) {
    this.#directory = directory;
    this.#parts = parts;
    this.#copied = copied;
    this.#log = log;
  }

  /** The copier can take all of them, now and when they change. */
  begin(): void {
    this.#changes.clear();
    this.#timer ??= setInterval(() => this.#refresh(), STATE_COPY_MS).unref();
    this.#refresh();
  }

  /** The databases are about to be closed. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#refresh();
    await this.#copying;
  }

  #refresh(): void {
    this.#copying = this.#copying
      .then(() => this.#copy())
      .catch((error: unknown) => this.#log.warn("the server's own files could not be copied; trying again", {error}));
  }

  async #copy(): Promise<void> {
    await mkdir(this.#directory, {recursive: true, mode: 0o700});
    const names: string[] = [];
    for (const [name, database] of Object.entries(this.#parts.databases)) {
      const from = database();
      const changes = from?.changes() ?? null;
      if (from === null || changes === null || this.#changes.get(name) === changes) continue;
      await this.#replace(name, next => from.copyTo(next));
      this.#changes.set(name, changes);
      names.push(name);
    }
    const tenants = this.#parts.tenants();
    const isSame = this.#changes.has(TENANTS_FILE) && (await textIn(join(this.#directory, TENANTS_FILE))) === tenants;
    if (!isSame) {
      await this.#replace(TENANTS_FILE, next => writeFile(next, tenants, {mode: 0o600}));
      this.#changes.set(TENANTS_FILE, 0);
      names.push(TENANTS_FILE);
    }
    if (names.length > 0) this.#copied(names);
  }

  async #replace(name: string, make: (path: string) => Promise<void>): Promise<void> {
    const next = join(this.#directory, `${name}.new`);
    await rm(next, {force: true});
    await make(next);
    await rename(next, join(this.#directory, name));
  }
}

function textIn(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
