/**
 * The files of stored deployments, for people: the original sources that came with the upload, and the bundle that runs.
 * Both are code of the tenant's file, stored once by digest; paths of sources are below a directory that no bundle can
 * use.
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import type Database from 'better-sqlite3';
import {reading, storageDamaged} from '../../../engine/storage/damage.ts';
import {digestOf} from '../../../engine/storage/file-digest.ts';
import type {Reader} from '../../../engine/storage/reader.ts';
import {checkedDeployment} from '../../../engine/storage/row-checksum.ts';
import type {DeploymentRow} from '../../../engine/storage/statements.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {DeploymentDiff, DeploymentFile, DeploymentFileText, Manifest} from '../../../shared/protocol/functions.ts';
import {SOURCES_DIRECTORY} from '../../runtime/analysis/deployment-upload.ts';
import {changes, eitherOf, manifestDiff} from './manifest-diff.ts';
import {variablesRead} from './variables-read.ts';

type StoredText = {source: string; source_map: string | null};
type Stored = {readonly manifest: Manifest; readonly files: readonly {path: string; sha256: string}[]};

export class DeploymentFiles {
  readonly #reader: Reader;
  readonly #deployment: Database.Statement<[number], DeploymentRow>;
  readonly #bytes: Database.Statement<[string], number>;
  readonly #text: Database.Statement<[string], StoredText>;

  constructor(reader: Reader) {
    this.#reader = reader;
    const {db} = reader;
    this.#deployment = db.prepare('SELECT * FROM deployments WHERE id = ?');
    this.#bytes = db.prepare<[string], number>('SELECT octet_length(source) FROM code WHERE sha256 = ?').pluck();
    this.#text = db.prepare('SELECT source, source_map FROM code WHERE sha256 = ?');
  }

  /** Sources first. @throws op.not_found 404, op.storage_damaged 503 */
  list(id: string): DeploymentFile[] {
    return this.#filesOf(this.#stored(id)).sort(inOrder);
  }

  /** @param kind null: a source, or else a file of the bundle. @throws as `list` */
  text(id: string, path: string, kind: DeploymentFile['kind'] | null): DeploymentFileText {
    const {files} = this.#stored(id);
    const source = kind === 'bundle' ? undefined : files.find(file => file.path === SOURCES_DIRECTORY + path);
    const isOfBundle = kind !== 'source' && !path.startsWith(SOURCES_DIRECTORY);
    const found = source ?? (isOfBundle ? files.find(file => file.path === path) : undefined);
    if (found === undefined) throw new ServiceError('op.not_found', `deployment ${id} has no file ${shown(path)}`);
    const {path: stored, sha256} = found;
    return {...nameOf(stored), sha256, text: this.#textOf(stored, sha256)};
  }

  /** What differs from one deployment to another. @throws as `list` */
  async diff(from: string, to: string): Promise<DeploymentDiff> {
    const [before, after] = [this.#stored(from), this.#stored(to)];
    const names = (file: DeploymentFile) => `${file.kind} ${file.path}`;
    const files = changes(this.#filesOf(before), this.#filesOf(after), names, ({sha256}) => sha256);
    const variables = changes(await this.variables(from), await this.variables(to), String, String);
    return {
      from: Number(from),
      to: Number(to),
      files: files
        .map(one => {
          const {path, kind} = eitherOf(one);
          return {
            path,
            kind,
            change: one.change,
            bytes_before: one.before?.bytes ?? null,
            bytes_after: one.after?.bytes ?? null,
          };
        })
        .sort(inOrder),
      ...manifestDiff(before.manifest, after.manifest),
      variables: variables.map(one => ({name: eitherOf(one), change: one.change})),
    };
  }

  /** Names of the variables that its code reads, in code unit order: its sources', or else its own modules'. @throws as `list` */
  async variables(id: string): Promise<string[]> {
    const {files} = this.#stored(id);
    const sources = files.filter(({path}) => path.startsWith(SOURCES_DIRECTORY));
    const own = sources.length > 0 ? sources : files.filter(({path}) => !path.startsWith('_deps/'));
    const names = new Set<string>();
    for (const {path, sha256} of own) {
      for (const name of variablesRead(this.#textOf(path, sha256))) names.add(name);
      await nextTurn();
      this.#reader.inSnapshot();
    }
    return [...names].sort();
  }

  #textOf(path: string, sha256: string): string {
    const stored = reading(() => this.#text.get(sha256));
    if (stored === undefined || digestOf(stored.source, stored.source_map ?? '') !== sha256) {
      throw storageDamaged({check: 'code', path});
    }
    return stored.source;
  }

  #stored(id: string): Stored {
    this.#reader.inSnapshot();
    const row = /^\d{1,15}$/.test(id) ? reading(() => this.#deployment.get(Number(id))) : undefined;
    if (row === undefined) throw new ServiceError('op.not_found', `there is no deployment ${shown(id)}`);
    const {manifest, files, hash} = checkedDeployment(row);
    if (digestOf(files) !== hash) {
      throw storageDamaged({check: 'code', stored: `the list of files of deployment ${row.id}`});
    }
    return {manifest: JSON.parse(manifest) as Manifest, files: JSON.parse(files) as Stored['files']};
  }

  #filesOf({files}: Stored): DeploymentFile[] {
    return files.map(({path, sha256}) => {
      const bytes = reading(() => this.#bytes.get(sha256));
      if (bytes === undefined) throw storageDamaged({check: 'code', path});
      return {...nameOf(path), bytes, sha256};
    });
  }
}

function nameOf(path: string): Pick<DeploymentFile, 'path' | 'kind'> {
  if (!path.startsWith(SOURCES_DIRECTORY)) return {path, kind: 'bundle'};
  return {path: path.slice(SOURCES_DIRECTORY.length), kind: 'source'};
}

/** Sources before the bundle, each in code unit order. */
function inOrder(a: Pick<DeploymentFile, 'path' | 'kind'>, b: Pick<DeploymentFile, 'path' | 'kind'>): number {
  if (a.kind !== b.kind) return a.kind === 'source' ? -1 : 1;
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
