/** A tenant of a running service, and copies of it in a repository in a directory. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {newRepositoryKey, parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../copies/repository/repository-writer.ts';
import {openStore} from '../../copies/store/open-store.ts';
import type {Service} from '../harness/service.ts';
import {snapshotOf, TenantCapture} from './tenant-capture.ts';

export type TestRepository = {
  /** Options of verbs. */
  options: string[];
  path: string;
  writer: RepositoryWriter;
  remove(): Promise<void>;
};

export async function testRepository(): Promise<TestRepository> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-repository-'));
  const [path, keyFile] = [join(directory, 'repository'), join(directory, 'key')];
  const key = newRepositoryKey();
  writeFileSync(keyFile, key, {mode: 0o600});
  const repository = await Repository.init(await openStore(path), parseRepositoryKey(key));
  const writer = await RepositoryWriter.open(repository, {host: 'test', serverId: 'test'});
  return {
    options: ['--from', path, '--key', keyFile],
    path,
    writer,
    async remove() {
      await writer.release();
      repository.close();
      rmSync(directory, {recursive: true});
    },
  };
}

/** A commit that can be restored. */
export type CopiedPoint = {commit: number; sequence: number; timeMs: number};

/** Copies a tenant that nothing else writes to: each call makes one point. */
export class CopiedTenant {
  readonly #writer: RepositoryWriter;
  readonly #tenant: string;
  readonly #path: string;
  readonly #capture: TenantCapture;

  private constructor(writer: RepositoryWriter, tenant: string, path: string) {
    [this.#writer, this.#tenant, this.#path] = [writer, tenant, path];
    this.#capture = new TenantCapture(path, () => ({sequence: sequenceIn(path), timeMs: Date.now()}));
  }

  /** Stores a base of the tenant, which is awake. */
  static async begin(service: Service, tenant: string, {writer}: TestRepository): Promise<CopiedTenant> {
    const copied = new CopiedTenant(writer, tenant, join(service.directoryOf(tenant)!, 'tenant.sqlite'));
    await copied.#store('base');
    return copied;
  }

  /** Stores the commits since the last point. */
  async point(): Promise<CopiedPoint> {
    this.#capture.takeTo(snapshotOf(this.#path).commit, Number.MAX_SAFE_INTEGER);
    await this.#store('set');
    const {commit, sequence, timeMs} = this.#capture.sets.at(-1)!.after;
    return {commit, sequence, timeMs};
  }

  close(): void {
    this.#capture.close();
  }

  async #store(kind: 'base' | 'set'): Promise<void> {
    await this.#writer.addPack([{tenant: this.#tenant, kind, bytes: this.#capture.bytes}]);
  }
}

function sequenceIn(path: string): number {
  const db = new Database(path, {readonly: true, fileMustExist: true});
  try {
    return db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get() ?? 0;
  } finally {
    db.close();
  }
}
