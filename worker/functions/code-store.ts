/**
 * Where realms get a deployment's files from: the tenant's own file, over any connection to it. A deployment's files never
 * change, and what two deployments have in common is stored once.
 */
import {assert} from '../../shared/assert.ts';
import {REALMS_PER_ISOLATE_MAX} from '../../shared/limits.ts';
import type {Connection} from '../storage/database.ts';
import type {DeploymentCode} from './execution.ts';
import type {CodeSource} from './isolate/realm.ts';

type Sources = ReadonlyMap<string, string>;

export class CodeStore {
  readonly #connection: Connection;
  /** By deployment: path → SHA-256 of the source. The newest is the last. */
  readonly #files = new Map<number, Sources>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  sourceOf({id, timestampMs, seed}: DeploymentCode): CodeSource {
    return {timestampMs, seed, read: path => this.#read(id, path)};
  }

  #read(deployment: number, path: string): string {
    const sha256 = this.#filesOf(deployment).get(path);
    if (sha256 === undefined) throw new TypeError(`Cannot find module '${path}'`);
    const source = this.#connection
      .prepare<[string], string>('SELECT source FROM code WHERE sha256 = ?')
      .pluck()
      .get(sha256);
    assert(source !== undefined, `the code of ${path} is stored`);
    return source;
  }

  #filesOf(deployment: number): Sources {
    const known = this.#files.get(deployment);
    if (known !== undefined) return known;
    const text = this.#connection
      .prepare<[number], string>('SELECT files FROM deployments WHERE id = ?')
      .pluck()
      .get(deployment);
    assert(text !== undefined, `deployment ${deployment} is stored`);
    const files = new Map((JSON.parse(text) as {path: string; sha256: string}[]).map(file => [file.path, file.sha256]));
    this.#files.set(deployment, files);
    for (const id of this.#files.keys()) {
      if (this.#files.size <= REALMS_PER_ISOLATE_MAX) break;
      this.#files.delete(id);
    }
    return files;
  }
}
