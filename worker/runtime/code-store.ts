/**
 * Supplies realms with a deployment's files, read from the tenant's file over any connection to it. A deployment's
 * files never change, files common to two deployments are stored once, and a file is checked against its digest when it
 * is loaded.
 */

import type {Statement} from 'better-sqlite3';
import type {Connection} from '../../engine/storage/connection.ts';
import {reading, storageDamaged} from '../../engine/storage/damage.ts';
import {digestOf} from '../../engine/storage/file-digest.ts';
import {assert} from '../../shared/assert.ts';
import type {DeploymentCode} from './execution.ts';
import type {CodeSource} from './isolate/realm.ts';
import {REALMS_PER_ISOLATE_MAX} from './limits.ts';

type StoredFile = {source: string; source_map: string | null};
type StoredList = {files: string; hash: string};
type Sources = ReadonlyMap<string, string>;

export class CodeStore {
  readonly #connection: Connection;
  /**
   * Prepared once: a statement holds some KB outside V8's heap until its handle is collected, which in a quiet thread
   * takes hours.
   */
  #file: Statement<[string], StoredFile> | null = null;
  #list: Statement<[number], StoredList> | null = null;
  /** By deployment: path → SHA-256 of the source. The newest is last. */
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
    const stored = reading(() => {
      this.#file ??= this.#connection.prepare('SELECT source, source_map FROM code WHERE sha256 = ?');
      return this.#file.get(sha256);
    });
    // Code that differs from the deployed code is never run.
    if (stored === undefined || digestOf(stored.source, stored.source_map ?? '') !== sha256)
      throw storageDamaged({check: 'code', path});
    return stored.source;
  }

  #filesOf(deployment: number): Sources {
    const known = this.#files.get(deployment);
    if (known !== undefined) return known;
    const stored = reading(() => {
      this.#list ??= this.#connection.prepare('SELECT files, hash FROM deployments WHERE id = ?');
      return this.#list.get(deployment);
    });
    assert(stored !== undefined, `deployment ${deployment} is stored`);
    if (digestOf(stored.files) !== stored.hash) {
      throw storageDamaged({check: 'code', stored: `the list of files of deployment ${deployment}`});
    }
    const files = new Map(
      (JSON.parse(stored.files) as {path: string; sha256: string}[]).map(file => [file.path, file.sha256]),
    );
    this.#files.set(deployment, files);
    for (const id of this.#files.keys()) {
      if (this.#files.size <= REALMS_PER_ISOLATE_MAX) break;
      this.#files.delete(id);
    }
    return files;
  }
}
