/** Copies of the server's own files, made by the supervisor, that the repository does not have yet. */
import {hash} from 'node:crypto';
import {closeSync} from 'node:fs';
import {join} from 'node:path';
import {readAt} from '../../engine/copies/bytes.ts';
import {type OpenFile, openRegular} from '../../shared/outside-files.ts';
import {SEGMENT_BYTES_MAX} from '../limits.ts';
import type {Repository} from '../repository/repository.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {SERVER} from '../repository/tenant-copies.ts';
import {digestInTurns} from './files.ts';
import {storedFiles} from './stored-files.ts';
import type {NewFile} from './tenant-packages.ts';

/** A file that was copied again, and how often: a later copy is not stored with an earlier one. */
type Waiting = {name: string; path: string};

export class ServerFiles {
  /** SHA-256 by name. Null: not read from the repository yet. */
  #stored: Map<string, string> | null = null;
  readonly #waiting = new Map<string, Waiting>();
  /** One that is too large for a pack. */
  #large: Waiting | null = null;

  get hasLarge(): boolean {
    return this.#large !== null;
  }

  copied(directory: string, names: readonly string[]): void {
    for (const name of names) this.#waiting.set(name, {name, path: join(directory, name)});
  }

  /** Those that have changed and fit into a pack. @throws errors of the file system; RepositoryError; StoreError */
  async take(repository: Repository): Promise<NewFile[]> {
    const taken: NewFile[] = [];
    for (const waiting of this.#waiting.values()) {
      const {name, path} = waiting;
      await this.#opened(path, async file => {
        if (file !== null && file.bytes > SEGMENT_BYTES_MAX) {
          this.#large = waiting;
          return;
        }
        const bytes = file === null ? null : readAt(file.fd, 0, file.bytes);
        const sha256 = bytes === null ? null : hash('sha256', bytes);
        if (bytes === null || sha256 === null || (await this.#storedIn(repository)).get(name) === sha256) {
          this.#done(waiting);
          return;
        }
        const segment = {tenant: SERVER, kind: 'state', name, bytes} as const;
        taken.push({segment, stored: () => this.#done(waiting, sha256)});
      });
    }
    return taken;
  }

  /** Stores the one that is too large for a pack. @throws as `take` */
  async upload(writer: RepositoryWriter): Promise<void> {
    const waiting = this.#large;
    this.#large = null;
    if (waiting === null) return;
    const {name, path} = waiting;
    await this.#opened(path, async file => {
      const sha256 = file === null ? undefined : await digestInTurns(file, 'sha256');
      if (file !== null && (await this.#storedIn(writer.repository)).get(name) !== sha256) {
        await writer.addLarge({tenant: SERVER, kind: 'state', name, path: `/proc/self/fd/${file.fd}`});
      }
      this.#done(waiting, sha256);
    });
  }

  async #opened(path: string, use: (file: OpenFile | null) => Promise<void>): Promise<void> {
    const file = openRegular(path);
    try {
      await use(file);
    } finally {
      if (file !== null) closeSync(file.fd);
    }
  }

  async #storedIn(repository: Repository): Promise<Map<string, string>> {
    this.#stored ??= new Map((await storedFiles(repository, SERVER)).map(({name, sha256}) => [name, sha256]));
    return this.#stored;
  }

  #done(waiting: Waiting, sha256?: string): void {
    if (sha256 !== undefined) this.#stored?.set(waiting.name, sha256);
    if (this.#waiting.get(waiting.name) === waiting) this.#waiting.delete(waiting.name);
  }
}
